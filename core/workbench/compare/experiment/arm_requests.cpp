#include "core/workbench/compare/experiment/arm_requests.h"

#include <cmath>
#include <utility>

namespace switchyard::compare {

using Json = nlohmann::ordered_json;

ArmRequests::ArmRequests(std::vector<StartedArm> arms, double timeout_ms,
                         std::function<ArmOutcome&(std::size_t)> outcome,
                         std::function<void(const std::string&)> tell)
    : arms_(std::move(arms)), timeout_ms_(timeout_ms), outcome_(std::move(outcome)), tell_(std::move(tell)) {
    for (std::size_t at = 0; at < arms_.size(); ++at) {
        if (arms_[at].client == nullptr) fail(at, ArmStatus::failed, arms_[at].error);
    }
}

bool ArmRequests::going() const {
    bool any = false;
    for (std::size_t at = 0; at < arms_.size(); ++at) any = any || outcome(at).ok();
    return any && !stopped_;
}

void ArmRequests::fail(std::size_t at, ArmStatus status, const std::string& reason) {
    outcome(at).status = status;
    outcome(at).reason = reason;
}

void ArmRequests::end(std::size_t at, ArmStatus status, const std::string& reason) {
    fail(at, status, reason);
    arms_[at].client->kill();
    tell_(outcome(at).spec.name + ": " + std::string(name(status)) + ": " + reason);
}

std::optional<std::string> ArmRequests::request(std::size_t at, const Json& message, const std::string& phase,
                                                double* wall_ms) {
    auto exchange =
        arms_[at].client->request(message.dump(-1, ' ', false, Json::error_handler_t::replace), timeout_ms_);
    elapsed_ms_ += exchange.wall_ms;
    if (wall_ms != nullptr) *wall_ms = exchange.wall_ms;
    const auto words = arms_[at].client->stderr_tail();
    const std::string last = words.empty() ? "" : "\n" + words;
    switch (exchange.end) {
        case Exchange::End::answered:
            return std::move(exchange.text);
        case Exchange::End::timed_out:
            end(at, ArmStatus::timed_out, exchange.text + " " + phase + last);
            break;
        case Exchange::End::exited:
            end(at, ArmStatus::crashed, exchange.text + " " + phase + last);
            break;
        case Exchange::End::unsolicited:
            end(at, ArmStatus::protocol_error, exchange.text);
            break;
        case Exchange::End::stopped:
            stopped_ = true;
    }
    return std::nullopt;
}

std::optional<Ready> ArmRequests::prepared(std::size_t at, const Json& message, Operation operation) {
    const auto line = request(at, message, "while it prepared");
    if (!line) return std::nullopt;
    auto ready = taken<Ready>(at, read_ready(*line));
    if (!ready) return std::nullopt;
    if (ready->operation != operation) {
        const std::string wanted(name(operation));
        end(at, ArmStatus::failed,
            "does not do the operation " + wanted + ": its answer to prepare has no \"operation\": \"" +
                wanted + "\"");
        return std::nullopt;
    }
    outcome(at).description = ready->description;
    outcome(at).dtype = ready->dtype;
    return ready;
}

bool ArmRequests::accounted(std::size_t at, double claimed_ms, double wall_ms, const std::string& of_what) {
    if (claimed_ms <= wall_ms * 1.01 + 2.0) return true;
    end(at, ArmStatus::protocol_error,
        "it reports " + std::to_string(std::lround(claimed_ms)) + " ms for " + of_what + "; its turn took " +
            std::to_string(std::lround(wall_ms)) + " ms");
    return false;
}

void ArmRequests::end_process(std::size_t at) {
    if (!arms_[at].client) return;
    if (outcome(at).ok() && !stopped_)
        arms_[at].client->quit();
    else
        arms_[at].client->kill();
}

void ArmRequests::quit() {
    for (std::size_t at = 0; at < arms_.size(); ++at) end_process(at);
}

void ArmRequests::replace(std::size_t at, std::unique_ptr<ArmClient> client, const std::string& error) {
    arms_[at].client = std::move(client);
    if (arms_[at].client == nullptr) fail(at, ArmStatus::failed, error);
}

}  // namespace switchyard::compare
