#include "made_up_arm.h"

#include <cmath>
#include <memory>

#include "core/workbench/bench/measure/philox_stream.h"
#include "core/workbench/bench/measure/simulated_blocks.h"

namespace switchyard::test {
namespace {

using compare::Exchange;

class FakeClient final : public compare::ArmClient {
public:
    FakeClient(std::string name, const MadeUp& arm, Log& log)
        : name_(std::move(name)), arm_(arm), log_(log) {}

    Exchange request(const std::string& line, double) override {
        const auto message = nlohmann::json::parse(line);
        if (message["type"] == "observe") return observe();
        if (message["type"] == "evaluate") return evaluate();
        return message["type"] == "prepare" ? prepare(message) : run(message["steps"].get<std::int64_t>());
    }
    void kill() override { log_.push_back(name_ + " ends"); }
    std::string stderr_tail() const override {
        return turns_ >= arm_.gone_from_turn ? "Segmentation fault" : "";
    }

private:
    Exchange prepare(const nlohmann::json& message) {
        step_ = 0;
        seed_ = message["seed"];
        log_.push_back(name_ + " prepares");
        compare::Ready ready;
        ready.operation = arm_.operation;
        ready.dtype = arm_.dtype;
        ready.loss = arm_.first_loss;
        ready.first_step_written = true;
        ready.observes = arm_.observed.has_value();
        ready.evaluates = arm_.evaluation != nullptr;
        ready.not_evaluated = arm_.not_evaluated;
        ready.amplification = compare::Drift{1.0, 1.0, 1.0};
        return {Exchange::End::answered, to_message(ready).dump(), arm_.prepare_ms};
    }

    Exchange observe() {
        log_.push_back(name_ + " observes");
        ++step_;
        return {Exchange::End::answered, compare::to_message(arm_.observed.value()).dump(), 400.0};
    }

    Exchange evaluate() {
        log_.push_back(name_ + " evaluates");
        return {Exchange::End::answered, compare::to_message(arm_.evaluation(seed_)).dump(), 50.0};
    }

    Exchange run(std::int64_t steps) {
        log_.push_back(name_ + " runs " + std::to_string(steps));
        if (turns_++ >= arm_.silent_from_turn)
            return {Exchange::End::timed_out, "did not answer within 300 s", 300'000.0};
        if (turns_ > arm_.gone_from_turn)
            return {Exchange::End::exited, "was killed by signal 11 (Segmentation fault)", 1.0};
        if (!arm_.instead.empty()) return {Exchange::End::answered, arm_.instead, 1.0};
        compare::Turn turn;
        turn.executed = nlohmann::ordered_json::object();
        double wall = 0.0;
        for (std::int64_t i = 0; i < steps; ++i, ++step_) {
            const double ms = arm_.step_ms(step_);
            wall += ms;
            turn.step_ms.push_back(arm_.claims * ms);
            turn.loss.push_back(arm_.loss(step_) + arm_.seed_shift(seed_));
        }
        turn.samples = arm_.samples * steps;
        turn.tokens = 100 * steps;
        turn.peak_memory_bytes = arm_.peak_memory_bytes;
        turn.involuntary_switches = arm_.involuntary_switches;
        turn.others_share = arm_.others_share(static_cast<int>(turns_) - 1);
        return {Exchange::End::answered, to_message(turn).dump(), wall};
    }

    std::string name_;
    MadeUp arm_;
    Log& log_;
    std::int64_t step_ = 0;
    int seed_ = 0;
    double turns_ = 0;
};

}  // namespace

profile::ObservedStep step_of(std::int64_t parameters) {
    const auto at = [=](double ms, std::int64_t activations) {
        profile::MemoryPoint point{ms, {}};
        point.parts[static_cast<std::size_t>(profile::MemoryClass::parameters)] = parameters;
        point.parts[static_cast<std::size_t>(profile::MemoryClass::optimizer_state)] = 2 * parameters;
        point.parts[static_cast<std::size_t>(profile::MemoryClass::activations)] = activations;
        return point;
    };
    profile::ObservedStep step;
    step.memory.peak = at(40.0, 2 * parameters);
    step.memory.line = {at(0.0, 0), step.memory.peak, at(90.0, 0)};
    step.memory.layers = {{"encoder.0", parameters}, {"encoder.1", parameters / 2}};
    step.memory.step_ms = 90.0;
    step.memory.allocations = 7;
    step.cost = {1e9, 2e8, 5e7};
    step.samples = 4;
    step.tokens = 100;
    return step;
}

MadeUp steady(double ms) {
    MadeUp arm;
    arm.step_ms = [ms](std::int64_t) { return ms; };
    return arm;
}

std::unique_ptr<compare::ArmClient> made_up_client(const std::string& name, const MadeUp& arm, Log& log) {
    return std::make_unique<FakeClient>(name, arm, log);
}

compare::StartedArm made_up_arm(const std::string& name, const MadeUp& arm, Log& log) {
    compare::ArmSpec spec;
    spec.name = name;
    return {spec, made_up_client(name, arm, log), ""};
}

MadeUp scattered(double ms, double spread, std::uint64_t seed) {
    auto random = std::make_shared<bench::PhiloxStream>(seed);
    MadeUp arm;
    arm.step_ms = [=](std::int64_t) { return ms * std::exp(spread * bench::standard_normal(*random)); };
    return arm;
}

compare::ExperimentSettings quick_settings() {
    compare::ExperimentSettings settings;
    settings.prepare = [](const compare::Preparation& what) {
        return nlohmann::ordered_json{{"type", "prepare"}, {"seed", what.seed}};
    };
    settings.drift = [](std::size_t, std::size_t) { return compare::Drift{0.0, 1e-7, 1e-6}; };
    return settings;
}

}  // namespace switchyard::test
