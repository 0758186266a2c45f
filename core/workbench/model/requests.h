// What all requests of a model have in common: the shapes that a configuration allows and the dtypes of its
// precision policy. A range covers every batch that [batch] allows, so that one binding serves them all.
#pragma once

#include <functional>
#include <string>

#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/request.h>
#include "core/kernel/config/config.h"

namespace switchyard::model {

// What a precision policy says of a class of operations in a layer ("encoder.3", "encoder", "model").
struct Dtypes {
    std::function<DType(OpClass, const std::string& layer)> compute;  // of the inputs
    std::function<DType(OpClass, const std::string& layer)> storage;  // of the parameters
    // Whether a linear layer's products in float32 may be rounded to TensorFloat-32.
    std::function<bool(const std::string& layer)> tf32 = [](const std::string&) { return false; };
};

// Everything in the parameters' dtype, unless precision.compute_dtype says otherwise. "auto" in [precision]
// stands for float32 and no loss scaling here: auto_precision.h fills it in before.
Dtypes configured_dtypes(const config::Config& config);

class Requests {
public:
    // Both outlive it.
    Requests(const config::Config& config, const Dtypes& dtypes) : config_(config), dtypes_(dtypes) {}

    template <class Request>
    Request make(DType dtype, Phase phase, const config::SlotConfig& slot) const {
        Request r;
        r.dtype = dtype;
        r.device = config_.run.device;
        r.layout = generates(phase) ? Layout::padded : config_.batch.planned_layout();
        r.phase = phase;
        r.needs_grad = phase == Phase::train;
        r.deterministic = config_.run.deterministic;
        r.allow_reduced = slot.allow_reduced;
        return r;
    }
    template <class Request>
    Request make(OpClass op, const std::string& layer, Phase phase, const config::SlotConfig& slot) const {
        return make<Request>(compute(op, layer), phase, slot);
    }

    // Of the linear layer of that name, as the policy has it: without its sizes.
    LinearRequest linear(const std::string& name, Phase phase, const config::SlotConfig& slot) const;

    // The same where [quantization] stores its weight.
    LinearRequest quantized_linear(const std::string& name, Phase phase,
                                   const config::SlotConfig& slot) const;

    // precision.compute_dtype, where it is written, goes before the policy's answer.
    DType compute(OpClass op, const std::string& layer) const;
    DType storage(OpClass op, const std::string& layer) const { return dtypes_.storage(op, layer); }

    Range batch() const;  // sequences of one batch
    // Prompts and what they grow to are rows, never documents of a block.
    Range batch(Phase phase) const { return generates(phase) ? Range(1, config_.batch.size) : batch(); }
    Range lengths() const { return {config_.batch.min_length, config_.batch.max_length}; }
    // Prompts may be shorter than what a model is trained with, and come padded whatever batch.layout says.
    Range lengths(Phase phase) const {
        return generates(phase) ? Range(1, config_.batch.max_length) : lengths();
    }
    Range query_lengths(Phase phase) const {
        return phase == Phase::decode ? Range(1, config_.cache.step_tokens) : lengths(phase);
    }
    // Whether attention in that dtype reads pages: not where they are narrower and the core makes them wide.
    bool reads_pages(Phase phase, DType attention) const;
    static bool generates(Phase phase) { return phase == Phase::prefill || phase == Phase::decode; }
    Range rows(Phase phase) const;  // tokens of one batch

private:
    const config::Config& config_;
    const Dtypes& dtypes_;
};

}  // namespace switchyard::model
