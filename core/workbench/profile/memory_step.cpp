#include "core/workbench/profile/memory_step.h"

#include <functional>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/profile/memory_recorder.h"
#include "core/workbench/profile/operator_costs.h"
#include "core/workbench/profile/recorder.h"
#include "core/workbench/profile/summarize.h"

namespace switchyard::profile {
namespace {

constexpr double optimizer_operations = 12.0;  // of a parameter; nominal, as for other elements

std::vector<at::Tensor> tensors_of(const Batch& batch) {
    std::vector<at::Tensor> tensors{batch.labels, batch.float_labels};
    for (const auto* side : {&batch.source, &batch.target}) {
        for (const auto& tensor : {side->ids, side->token_type_ids, side->tokens.lengths,
                                   side->tokens.cu_seqlens, side->tokens.positions})
            tensors.push_back(tensor);
    }
    return tensors;
}

// Reads gradients, values and state, and writes values and state.
Cost optimizer_cost(const train::Session& session, const train::TrainingState& state) {
    Cost cost;
    double kept = 0.0;
    for (const auto& entry : state.optimizer.entries) kept += tensor_bytes(entry.value);
    for (const auto& [name, master] : state.masters) kept += tensor_bytes(master);
    double values = 0.0;
    for (const auto& parameter : session.parameters().all()) {
        if (!parameter.value.requires_grad()) continue;
        values += tensor_bytes(parameter.value);
        cost.flops += optimizer_operations * static_cast<double>(parameter.value.numel());
    }
    cost.read = 2.0 * values + kept;
    cost.written = values + kept;
    return cost;
}

std::vector<at::Tensor> gradients_of(const train::Session& session) {
    std::vector<at::Tensor> gradients;
    for (const auto& parameter : session.parameters().all()) gradients.push_back(parameter.value.grad());
    return gradients;
}

}  // namespace

MemoryStep memory_step(train::Session& session, train::Trainer& trainer, std::vector<Batch> batches) {
    const c10::Device device(to_device_type(session.config().run.device));
    MemoryStep seen;
    const auto state = trainer.state();
    seen.optimizer = optimizer_cost(session, state);
    Recorder recorder(device.is_cpu() ? std::function<void()>() : [device] { bench::synchronize(device); });
    bench::reset_peak_memory(device);
    {
        const Observing observing(recorder);
        MemoryRecorder memory(recorder, device, bench::peak_memory(device));
        for (const auto& parameter : session.parameters().all())
            memory.know(parameter.value, MemoryClass::parameters);
        for (const auto& [name, master] : state.masters) memory.know(master, MemoryClass::masters);
        for (const auto& entry : state.optimizer.entries)
            memory.know(entry.value, MemoryClass::optimizer_state);
        for (const auto& batch : batches) {
            for (const auto& tensor : tensors_of(batch)) memory.know(tensor, MemoryClass::batches);
        }
        recorder.on_part([&](std::string_view part) {
            if (part == "update") memory.gradients(gradients_of(session));
        });
        {
            const StepScope scope(recorder, "step");
            seen.report = trainer.step(batches);
        }
        recorder.on_part({});
        seen.memory = memory.take();
    }
    seen.recording = recorder.take();
    return seen;
}

ObservedStep observed(const MemoryStep& step, std::size_t points) {
    ObservedStep seen;
    seen.memory = memory_profile(step.recording, step.memory, points);
    for (const auto& slot : summarize({step.recording}, {}, step.optimizer).slots) seen.cost += slot.cost;
    seen.samples = step.report.samples;
    seen.tokens = step.report.tokens;
    return seen;
}

}  // namespace switchyard::profile
