// The messages between the coordinator of a comparison and an arm: one JSON object a line over the arm's
// standard streams.
//
//     to the arm     {"type": "prepare", ...}      make a model with these weights, answer when ready; may
//                    come again
//                    {"type": "run", "steps": 5}   do that many steps (or passes), answer with their times
//                    and losses; of a generation with its times by token and the tokens
//                    {"type": "observe"}           do one more step and tell of it; to arms that say they can
//                    {"type": "evaluate"}          evaluate held-out samples; to arms that say they can
//                    {"type": "quit"}              end
//     from the arm   {"type": "report", ...}       the answer to all of these
//                    {"type": "error", "text": ""} it cannot go on
//
// docs/compare.md says what each holds. An arm writes only in answer to a request, one line for each; its
// lines are checked here, and one that does not fit is a ProtocolError that shows it.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/arms/operation.h"
#include "core/workbench/profile/observed_step.h"

namespace switchyard::compare {

inline constexpr int arm_protocol = 2;

// How far one step from equal weights is from another; relative. NaN: not known.
struct Drift {
    double loss = std::numeric_limits<double>::quiet_NaN();
    double output = std::numeric_limits<double>::quiet_NaN();
    double gradient = std::numeric_limits<double>::quiet_NaN();
};

// The answer to prepare.
struct Ready {
    Operation operation = Operation::step;                   // that it is ready for
    std::string description;                                 // "PyTorch 2.11.0, torch.compile"
    std::string dtype;                                       // of the matrix products
    double loss = std::numeric_limits<double>::quiet_NaN();  // of the first step's batches, dropout off
    bool first_step_written = false;     // logits and gradients of that are in the file that prepare named
    std::optional<Drift> amplification;  // by how much a relative change of all weights is magnified
    std::int64_t weight_bytes = -1;      // that are held before any sequence comes; -1: not known
    bool reduced = false;     // some component is of reduced accuracy: rounding does not bound its drift
    std::string cache_dtype;  // of Operation::generate: of keys and values that are kept; "": as of products
    bool observes = false;    // it answers observe
    bool evaluates = false;   // it answers evaluate
    std::string not_evaluated;  // why not; "": it does not say
};

// The answer to run.
struct Turn {
    std::vector<double> step_ms;
    std::vector<double> loss;  // NaN where it is not finite
    std::int64_t skipped = 0;  // steps that changed nothing, for a gradient was not finite
    std::int64_t samples = 0;  // of all steps together
    std::int64_t tokens = 0;   // likewise, real ones
    std::vector<std::int64_t> step_samples, step_tokens;  // empty, or one for each step
    std::vector<std::int64_t> step_skipped;               // likewise: 1 for a step that changed nothing
    std::int64_t peak_memory_bytes = -1;     // most live tensor bytes in this turn; -1: not known
    std::int64_t involuntary_switches = -1;  // context switches, as getrusage counts them; -1: not known
    std::int64_t page_faults = -1;           // minor and major, likewise
    double others_share = -1.0;       // of the processors' time, that went to others; below 0: not known
    nlohmann::ordered_json executed;  // object, by slot
    // Of Operation::generate (generated_turn.h): of each pass, until the first new token of every row is
    // known; the tokens of each row; of all prompts, -1: not known.
    std::vector<double> prefill_ms;
    std::vector<std::vector<std::int64_t>> generated;
    std::int64_t prompt_tokens = -1;
};

// The answer to evaluate: of samples that nobody trains on, with dropout off.
struct Evaluation {
    std::int64_t samples = 0;
    std::int64_t labels = 0;    // that count
    std::int64_t correct = -1;  // of them, that the largest logit hits; -1: not known
    double loss = std::numeric_limits<double>::quiet_NaN();  // mean over the labels; NaN: not finite
};

// The answer to run of Operation::generate. Times of a pass: all prompts of the batch, until the last
// token of every row.
struct Generation {
    std::vector<double> step_ms;     // of each pass
    std::vector<double> prefill_ms;  // of it, until the first new token of every row is known
    std::vector<std::vector<double>>
        token_ms;  // of it, each further token of all rows: one fewer than tokens
    std::vector<std::vector<std::int64_t>> generated;  // the tokens of each row, of the last pass
    std::int64_t prompt_tokens = -1;                   // of a pass, padding not counted; -1: not known
    std::int64_t read_bytes = -1;   // of weights, that a token after the first reads; -1: not known
    std::int64_t cache_bytes = -1;  // that are kept for the rows at the end of a pass; -1: not known
    std::int64_t peak_memory_bytes = -1;
    std::int64_t involuntary_switches = -1;
    double others_share = -1.0;  // as of a Turn
    nlohmann::ordered_json executed;
};

// What a generation was asked for.
struct GenerationAsked {
    std::int64_t passes = 0, rows = 0, tokens = 0, vocabulary = 0;
};

struct ArmError {
    std::string text;
};
// A line that does not follow the protocol.
struct ProtocolError {
    std::string text;  // what is wrong with it, and the line
};

using ReadyAnswer = std::variant<Ready, ArmError, ProtocolError>;
using TurnAnswer = std::variant<Turn, ArmError, ProtocolError>;
using GenerationAnswer = std::variant<Generation, ArmError, ProtocolError>;
using EvaluationAnswer = std::variant<Evaluation, ArmError, ProtocolError>;
using ObservedAnswer = std::variant<profile::ObservedStep, ArmError, ProtocolError>;

ReadyAnswer read_ready(const std::string& line);
// `steps`: how many were asked for.
TurnAnswer read_turn(const std::string& line, std::int64_t steps);
GenerationAnswer read_generation(const std::string& line, const GenerationAsked& asked);
ObservedAnswer read_observed(const std::string& line);
// `most`: samples that were asked for.
EvaluationAnswer read_evaluation(const std::string& line, std::int64_t most);

nlohmann::ordered_json to_message(const Ready& ready);
nlohmann::ordered_json to_message(const Turn& turn);
nlohmann::ordered_json to_message(const Generation& generation);
nlohmann::ordered_json to_message(const Evaluation& evaluation);
nlohmann::ordered_json to_message(const profile::ObservedStep& step);

}  // namespace switchyard::compare
