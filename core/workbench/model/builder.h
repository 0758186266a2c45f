// What a module's constructor asks for its parts: parameters, linear layers and slots. There are two
// builders:
// a Describer only collects what is asked for (describer.h), a Maker makes parameters and takes operations
// from a plan (maker.h). So a model says in one place what it is made of.
//
// Parameters start as in each model's paper:
//   bert  normal(0, 0.02), biases 0 (Devlin et al. 2019)
//   gpt   normal(0, 0.02), projections into the residual stream divided by sqrt(2 * layers) (Radford et al.
//         2019)
//   t5    normal with deviations from the widths: q (d * head_dim)^-1/2, k and v d^-1/2, out
//         (heads * head_dim)^-1/2, feed-forward d^-1/2 in and intermediate^-1/2 out, embeddings 1 (Raffel et
//         al. 2020, mesh-tensorflow's layers)
// Norms start at 1 and 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/operation.h"
#include "core/workbench/model/linear.h"
#include "core/workbench/model/parameter_cut.h"
#include "core/workbench/model/pipeline_stage.h"
#include "core/workbench/model/requests.h"
#include "core/workbench/model/slot.h"
#include "core/workbench/model/work.h"

namespace switchyard::model {

enum class LinearRole : std::uint8_t {
    query,
    key_value,
    attention_out,
    feed_forward_in,
    feed_forward_out,
    head
};

// Which of its sides is cut where ranks have a part of each layer. `blocks`: ParameterCut.
struct LinearCut {
    enum Side : std::uint8_t { none, out, in } side = none;
    std::int64_t blocks = 1;
};

// Where a linear layer is in a model, and what chooses who multiplies it.
struct LinearPlace {
    std::string name;  // "encoder.0.attention.q", "pooler"
    LinearRole role;
    const config::SlotConfig& config;
    std::optional<config::LayerId> layer{};  // where it is one of a layer
    bool of_memory = false;                  // it projects another stack's result, whatever the phase
    LinearCut cut{};
};

struct Norm {
    std::string name;  // "encoder.0.attention.norm"
    at::Tensor weight;
    at::Tensor beta;  // undefined for RMSNorm and models without biases
};

// What a parameter starts as.
struct Initial {
    enum Kind : std::uint8_t { normal, uniform, ones, zeros } kind = zeros;
    double deviation = 0.0;  // of normal; uniform: at most this far from 0
};

// Where a slot is in a model, and what chooses its component.
struct SlotPlace {
    Kind kind;
    std::string slot;    // "attention.cross"
    std::string layers;  // "encoder.3"; "encoder": once for that stack; "model": once
    const config::SlotConfig& config;
    std::optional<config::LayerId> layer{};  // where it is one of a layer
    bool of_memory = false;                  // it reads another stack's result and no token of its own
};

class Builder {
public:
    virtual ~Builder() = default;
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    const config::Config& config() const { return config_; }

    // Sizes are those of the whole layer, also where this process makes a part of it.
    // y [..., out] = x [..., in] weight^T + bias; with an adapter if it is one of lora.targets. A starts as
    // LibTorch's linear layers do, uniform within in^-1/2, B at 0, so that training begins with the model as
    // it was.
    Linear linear(const LinearPlace& place, std::int64_t in, std::int64_t out, bool bias);
    // A linear layer whose weight is another's, an embedding table. `bias`: it is given one later.
    Linear tied_linear(const LinearPlace& place, const at::Tensor& weight, std::int64_t in, std::int64_t out,
                       bool bias);
    Norm norm(const std::string& name);
    // [rows, hidden_size]
    at::Tensor embedding(const std::string& name, std::int64_t rows, const ParameterCut& cut = {});
    virtual at::Tensor parameter(const std::string& name, std::vector<std::int64_t> sizes,
                                 const Initial& initial, const ParameterCut& cut) = 0;
    at::Tensor parameter(const std::string& name, std::vector<std::int64_t> sizes, const Initial& initial) {
        return parameter(name, std::move(sizes), initial, {});
    }
    // The weight of a linear layer that [quantization] stores in 8 or 4 bits; nullptr while describing.
    virtual std::shared_ptr<const QuantizedWeight> quantized_weight(const std::string& linear,
                                                                    std::int64_t out, std::int64_t in) = 0;
    // A tensor that is no parameter, moved to the model's device; undefined while describing.
    virtual at::Tensor constant(const std::function<at::Tensor()>& make) = 0;

    // The operation of a slot in each configured phase in which the module runs. `request` says what is asked
    // of it; it is called while describing only.
    template <class Op, class Ask>
    Slot<Op> slot(const SlotPlace& place, const Ask& request) {
        Slot<Op> made(place.slot + " of " + place.layers);
        for (const auto phase : config_.run.phases) {
            if (!runs(place, phase)) continue;
            auto found = operation(place, phase, [&](const Requests& requests) {
                using Made = decltype(request(requests, phase));
                return std::make_shared<const Made>(request(requests, phase));
            });
            if (auto* op = std::get_if<std::shared_ptr<const Op>>(&found)) made.set(phase, std::move(*op));
        }
        return made;
    }

    // The plan's policy, which says in which numbers linear layers are multiplied; nullptr while describing.
    virtual std::shared_ptr<const runtime::PrecisionOp> precision() const { return nullptr; }

    // What follows, up to the next call, belongs to this part of the table that `switchyard model` prints.
    // `rows`: what its linear layers multiply a row each of; the tokens of the layer's side if not said.
    virtual void begin_part(const std::string&, const config::LayerId* = nullptr,
                            std::optional<Unit> /*rows*/ = {}) {}
    // Values that the part keeps for backward without fusion, of the largest batch: so many for each row.
    virtual void add_costs(std::int64_t /*rows*/, std::int64_t /*values*/) {}
    // The two products of an attention, of all heads `width` wide. `window`: how far it reaches; 0:
    // everywhere. After the projections that it reads, before the one that reads it.
    virtual void add_attention(Unit /*pairs*/, std::int64_t /*width*/, std::int64_t /*window*/) {}
    // Tokens of that stack, and of the one that the head reads.
    Unit side_of(config::Stack stack) const;
    Unit output_side() const;
    // Of what ranks have parts of: heads, and the width of a feed-forward.
    const config::LayerPart& part() const { return config_.distributed.part; }
    // Between blocks each of these ranks has some of the tokens (token_share.h).
    bool shares_tokens() const { return config_.distributed.sequence_parallel && !part().whole(); }
    // Of `width` values a token, for add_costs.
    std::int64_t kept_between_blocks(std::int64_t width) const {
        return shares_tokens() ? width / part().parts : width;
    }
    ParameterCut cut(std::int64_t dim, std::int64_t blocks = 1) const { return {part(), dim, blocks}; }
    // Layers, embeddings and head that this process has. What it has not is asked for like all else: its
    // parameters are undefined, and it never runs.
    const PipelineStage& stage() const { return stage_; }
    // Along the words of the vocabulary (config::cuts_words).
    ParameterCut word_cut() const;
    // Tokens of the largest batch.
    std::int64_t tokens() const { return config_.batch.most_tokens(); }

    // How many parameters there are, and those that came since there were `count`. None while describing.
    virtual std::size_t count() const { return 0; }
    virtual std::vector<at::Tensor> made_since(std::size_t) const { return {}; }

protected:
    explicit Builder(const config::Config& config);

    using MakeRequest = std::function<std::shared_ptr<const Request>(const Requests&)>;
    virtual runtime::Operation operation(const SlotPlace& place, Phase phase, const MakeRequest& request) = 0;
    virtual void note_linear(const LinearPlace&, std::int64_t, std::int64_t) {}
    // Told each linear layer with its operations.
    virtual void made(const Linear&) {}

private:
    std::shared_ptr<const LowRank> low_rank(const LinearPlace& place, std::int64_t in, std::int64_t out);
    void attach(Linear& linear, const LinearPlace& place, std::int64_t in, std::int64_t out, bool bias,
                bool quantized = false);
    bool left_out(const LinearPlace& place) const;
    bool stored_quantized(const LinearPlace& place) const;
    const config::SlotConfig& slot_config(const LinearPlace& place, bool quantized) const;
    double deviation(LinearRole role, std::int64_t in) const;
    bool runs(const SlotPlace& place, Phase phase) const;

    const config::Config& config_;
    PipelineStage stage_;
    config::SlotConfig left_out_;          // [linear] for layers of quantization.skip
    config::SlotConfig stored_as_floats_;  // [linear] for a weight that another module stores, as floats
};

// Floating-point operations of a matrix product; a multiply-add counts 2.
inline double product_flops(std::int64_t rows, std::int64_t in, std::int64_t out) {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
}

}  // namespace switchyard::model
