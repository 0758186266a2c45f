// Requests to arms, and what becomes of an arm that fails to answer one: it is ended and keeps its row with
// the reason, and the others go on.
//
// No LibTorch here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/arms/arm_client.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

struct StartedArm {
    ArmSpec spec;
    std::unique_ptr<ArmClient> client;  // nullptr: could not be started; `error` says why
    std::string error;
};

class ArmRequests {
public:
    // `outcome`: of which arm, where its status and reason are kept; they must stay where they are or be
    // found there. Arms that could not be started have failed at once.
    ArmRequests(std::vector<StartedArm> arms, double timeout_ms,
                std::function<ArmOutcome&(std::size_t)> outcome,
                std::function<void(const std::string&)> tell);

    std::size_t size() const { return arms_.size(); }
    // Some arm still answers, and nobody has stopped it all.
    bool going() const;
    bool stopped() const { return stopped_; }
    // Of all requests so far, by the coordinator's clock.
    double elapsed_ms() const { return elapsed_ms_; }

    void fail(std::size_t at, ArmStatus status, const std::string& reason);
    void end(std::size_t at, ArmStatus status, const std::string& reason);

    // The line that came, or nothing: then the arm has failed, or it is stopped. `phase`: for the reason.
    std::optional<std::string> request(std::size_t at, const nlohmann::ordered_json& message,
                                       const std::string& phase, double* wall_ms = nullptr);
    // Has the arm prepare for that operation, and keeps what it says of itself. Nothing: it has failed.
    std::optional<Ready> prepared(std::size_t at, const nlohmann::ordered_json& message, Operation operation);
    // What an answer holds, or nothing: then it was none, and the arm has ended.
    template <class Value>
    std::optional<Value> taken(std::size_t at, std::variant<Value, ArmError, ProtocolError> answer) {
        if (auto* const value = std::get_if<Value>(&answer)) return std::move(*value);
        if (const auto* const error = std::get_if<ArmError>(&answer))
            end(at, ArmStatus::failed, error->text);
        else
            end(at, ArmStatus::protocol_error, std::get<ProtocolError>(answer).text);
        return std::nullopt;
    }
    // Whether the times that an arm reports of a turn are no more than the turn took; else it has ended.
    bool accounted(std::size_t at, double claimed_ms, double wall_ms, const std::string& of_what);

    // The process of one arm ends, before `replace` puts a new start of it in its place; nullptr: it could
    // not be started, `error` says why.
    void end_process(std::size_t at);
    void replace(std::size_t at, std::unique_ptr<ArmClient> client, const std::string& error);

    // All end: those that answer by themselves, unless it was stopped.
    void quit();

private:
    ArmOutcome& outcome(std::size_t at) const { return outcome_(at); }

    std::vector<StartedArm> arms_;
    double timeout_ms_;
    std::function<ArmOutcome&(std::size_t)> outcome_;
    std::function<void(const std::string&)> tell_;
    bool stopped_ = false;
    double elapsed_ms_ = 0.0;
};

}  // namespace switchyard::compare
