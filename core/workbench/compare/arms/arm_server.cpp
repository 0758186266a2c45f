#include "core/workbench/compare/arms/arm_server.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/kernel/base/json_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/disturbance_meter.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/relative_distance.h"
#include "core/workbench/compare/arms/data_arm.h"
#include "core/workbench/compare/arms/executed_json.h"
#include "core/workbench/compare/arms/first_step_file.h"
#include "core/workbench/compare/arms/forward_arm.h"
#include "core/workbench/compare/arms/inference_arm.h"
#include "core/workbench/compare/arms/moved_weights.h"
#include "core/workbench/compare/arms/shared_batches.h"
#include "core/workbench/compare/arms/training_arm.h"
#include "core/workbench/distributed/together.h"

namespace switchyard::compare {
namespace {

c10::Device device_of(const config::Config& config) {
    return config.run.device == Device::cuda ? c10::Device(c10::DeviceType::CUDA, 0)
                                             : c10::Device(c10::DeviceType::CPU);
}

}  // namespace

ArmServer::ArmServer(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                     const HostInfo& host, const ArmServerOptions& options)
    : options_(options),
      session_(config, plan, registry, host),
      device_(device_of(config)),
      clock_([device = device_] { bench::synchronize(device); }) {
    if (options_.group != nullptr) session_.share_with(*options_.group);
    if (config.data.given() && (!options.inference() || options.samples > 0)) {
        session_.load_tokenizer();
        session_.load_data();
    }
    session_.load_initial_weights(false);  // they may be exported, and moved a little
    for (const auto& row : plan.rows)
        reduced_ = reduced_ || (row.chosen && row.chosen->accuracy == Accuracy::reduced);
}

void ArmServer::export_inputs(const model::Parameters& parameters) {
    const auto& folder = options_.export_folder;
    if (options_.export_weights) {
        if (const auto error = model::save_weights(folder + "/weights", session_.config(), parameters))
            throw std::runtime_error(*error);
    }
    if (const auto error = write_shared_batches(folder + "/batches.safetensors", shared_batches()))
        throw std::runtime_error(*error);
    if (auto held_out = evaluation_batches(); !held_out.empty()) {
        if (const auto error = write_shared_batches(folder + "/evaluation.safetensors", {held_out}))
            throw std::runtime_error(*error);
    }
}

namespace {

std::vector<at::Tensor> outputs_of(const at::Tensor& logits, const at::Tensor& further) {
    if (!further.defined()) return {logits};
    return {logits, further};
}

}  // namespace

Drift ArmServer::amplification(const First& exact) {
    const MovedWeights moved_weights(session_.parameters());
    const auto moved = first();
    const auto per_weight = [](double distance) { return distance / MovedWeights::share; };
    return {per_weight(std::abs(moved.loss - exact.loss) / std::max(std::abs(exact.loss), 1e-30)),
            per_weight(bench::relative_distance(outputs_of(moved.logits, moved.further),
                                                outputs_of(exact.logits, exact.further))),
            per_weight(bench::relative_distance(moved.gradients, exact.gradients))};
}

Ready ArmServer::prepare() {
    Ready ready;
    ready.operation = options_.operation;
    ready.description = "switchyard";
    ready.dtype = std::string(name(session_.plan().precision().compute(OpClass::linear, "model")));
    // Of ranks that have parts of a model all join in, and one writes.
    const auto* const parts = session_.model_parts();
    const auto whole = parts != nullptr ? parts->whole() : session_.parameters();
    if (!options_.export_folder.empty()) export_inputs(whole);
    const auto exact = first();
    ready.loss = exact.loss;
    if (!options_.first_step_file.empty()) {
        write_first_step(options_.first_step_file, session_.config(), whole,
                         {exact.logits, exact.further, exact.gradients});
        ready.first_step_written = true;
    }
    if (options_.amplification) ready.amplification = amplification(exact);
    session_.settle_weights();
    ready.reduced = reduced_;
    if (const auto& kept = session_.config().cache.dtype; kept && options_.operation == Operation::generate)
        ready.cache_dtype = std::string(name(*kept));
    if (options_.inference() && device_.is_cpu()) {
        ready.weight_bytes = machine::cpu_memory_stats().live_bytes - row_bytes();
        for (const auto& outputs : outputs_of(exact.logits, exact.further))
            ready.weight_bytes -= static_cast<std::int64_t>(outputs.nbytes());
    }
    before_ = session_.executed();
    ready.observes = observes();
    if (options_.eval_samples > 0) {
        ready.not_evaluated = not_evaluated();
        ready.evaluates = ready.not_evaluated.empty();
    }
    return ready;
}

template <class Report>
void ArmServer::measure(Report& report, const std::function<void()>& work) {
    bench::reset_peak_memory(device_);
    const auto switches_before = clock_.involuntary_switches();
    const bench::DisturbanceMeter disturbed;
    work();
    const auto switches = clock_.involuntary_switches();
    report.involuntary_switches = switches < 0 ? -1 : switches - switches_before;
    if constexpr (requires { report.page_faults; }) report.page_faults = disturbed.page_faults();
    if (options_.group == nullptr) report.others_share = disturbed.others_share();  // ranks are no others
    report.peak_memory_bytes = bench::peak_memory(device_);
    report.executed = executed_since_before();
}
template void ArmServer::measure(Generation&, const std::function<void()>&);

// Of all stages of a pipeline, since none has all slots.
nlohmann::ordered_json ArmServer::executed_since_before() {
    auto own = executed_json(session_.executed(), before_);
    const auto* const mesh = session_.mesh();
    if (mesh == nullptr || mesh->pipeline() == nullptr) return own;
    auto& world = mesh->world();
    const auto said = distributed::meet(world.store(), world.place(), "executed " + std::to_string(++turns_),
                                        own.dump(), session_.config().distributed.timeout);
    std::vector<nlohmann::ordered_json> stages;
    for (std::int64_t stage = 0; stage < mesh->stages(); ++stage)
        stages.push_back(base::parse_object(said[static_cast<std::size_t>(mesh->rank_in_stage(stage))],
                                            "what stage " + std::to_string(stage) + " called"));
    return joined(stages);
}

Turn ArmServer::run(std::int64_t steps) {
    Turn turn;
    measure(turn, [&] {
        for (std::int64_t step = 0; step < steps; ++step) {
            const double start = clock_.now_ms();
            run_one(turn);
            bench::take_longer(clock_, start, options_.slowed);
            turn.step_ms.push_back(clock_.now_ms() - start);
            turn.samples += turn.step_samples.back();
            turn.tokens += turn.step_tokens.back();
        }
    });
    return turn;
}

void ArmServer::choose(std::size_t workload) {
    if (workload != 0) throw std::runtime_error("\"workload\": there is one only");
}

Generation ArmServer::generate(std::int64_t) { throw std::logic_error("this arm generates nothing"); }

profile::ObservedStep ArmServer::observe() { throw std::runtime_error("this arm observes no step"); }

Evaluation ArmServer::evaluate() { throw std::runtime_error("this arm evaluates nothing"); }

std::unique_ptr<ArmServer> make_arm_server(const config::Config& config, const resolver::Plan& plan,
                                           runtime::Registry& registry, const HostInfo& host,
                                           const ArmServerOptions& options) {
    if (options.inference()) return std::make_unique<InferenceArm>(config, plan, registry, host, options);
    if (options.operation == Operation::data)
        return std::make_unique<DataArm>(config, plan, registry, host, options);
    if (options.operation == Operation::forward)
        return std::make_unique<ForwardArm>(config, plan, registry, host, options);
    return std::make_unique<TrainingArm>(config, plan, registry, host, options);
}

}  // namespace switchyard::compare
