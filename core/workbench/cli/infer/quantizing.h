// Makes the folder of a quantized run, tries it, and leaves sensitive layers out until it is good enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/cli/infer/loaded_model.h"
#include "core/workbench/quantize/calibration.h"

namespace switchyard::cli {

// What `--max-drop` goes by: the share of labels that are hit; of language models perplexity, and where
// nothing is hit or missed the loss, both as a share of what it was. Infinite where the loss is not finite.
double score_drop(const train::EvalResult& before, const train::EvalResult& after);
const char* score_name(const train::EvalResult& result);

struct QuantizedRun {
    config::QuantizationConfig how;     // with the layers that were left out among those to skip
    std::vector<std::string> left_out;  // the most sensitive first
    std::optional<train::EvalResult> after;
    std::unique_ptr<LoadedModel> model;  // as every command loads it
};

// Samples a second: medians of rounds in which both models are evaluated on the same samples, in turns.
struct EvaluationSpeeds {
    double before = 0.0, after = 0.0;
};
EvaluationSpeeds evaluation_speeds(LoadedModel& original, LoadedModel& quantized,
                                   const std::shared_ptr<const SampleSource>& samples);

// It was told to stop; what was made aside is removed.
struct QuantizingStopped {};

// The folder is made aside, beside `out`, and removed with this object unless `commit` was called.
class Quantizing {
public:
    struct Input {
        LoadedModel& original;                        // not settled
        std::shared_ptr<const SampleSource> samples;  // to evaluate on; nullptr: there are none
        const quantize::InputScales& scales;          // of method "static"
        std::string label_scale;                      // file of a regression; empty: none
        bool trust;                                   // JobOptions::trust
        std::function<bool()> stop;                   // asked between batches and stages
    };
    // Throws Failure where the folder of `out` cannot be made.
    Quantizing(Input input, std::string out);
    ~Quantizing();
    Quantizing(const Quantizing&) = delete;
    Quantizing& operator=(const Quantizing&) = delete;

    // Writes, loads and evaluates it. Throws QuantizingStopped.
    QuantizedRun make(const config::QuantizationConfig& how);
    // With the fewest of `ranking`, layers from the most sensitive on, left out that keep the drop within
    // `most`, found by halving. Throws Failure where the drop is larger with any layer quantized.
    QuantizedRun make_within(double most, const train::EvalResult& before,
                             const std::vector<std::string>& ranking, const config::QuantizationConfig& how);

    // Throws Failure.
    void commit() const;

private:
    Input input_;
    std::string out_, aside_;
};

}  // namespace switchyard::cli
