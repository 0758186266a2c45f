// The builder that only collects: what a configured model asks of its slots, and how large its parts are. No
// tensor, no plugin. Slots are those of the whole model; parts and parameters those that this process has
// (pipeline_stage.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"
#include "core/workbench/model/builder.h"

namespace switchyard::model {

// Of one kind of layers, or of what stands once. All counts are of all its layers.
struct ModelPart {
    std::string name;             // "embeddings", "encoder.0-5 attention", ...
    std::string shapes;           // of its matrices: "q 384x384, k 384x384, v 384x384, out 384x384"
    std::int64_t layers = 1;      // that are alike
    std::int64_t parameters = 0;  // values
    // Floating-point operations of the largest batch; a multiply-add counts 2.
    double forward_flops = 0.0;
    // Kept for backward without fusion, in precision.parameter_dtype (auto: float32).
    double activation_bytes = 0.0;
};

struct DescribedParameter {
    std::string name;  // "encoder.0.attention.q.weight"
    std::vector<std::int64_t> sizes;
};

class Describer final : public Builder {
public:
    Describer(const config::Config& config, const Dtypes& dtypes);

    at::Tensor parameter(const std::string& name, std::vector<std::int64_t> sizes, const Initial& initial,
                         const ParameterCut& cut) override;
    std::shared_ptr<const QuantizedWeight> quantized_weight(const std::string& linear, std::int64_t out,
                                                            std::int64_t in) override;
    at::Tensor constant(const std::function<at::Tensor()>&) override { return {}; }
    void begin_part(const std::string& name, const config::LayerId* layer, std::optional<Unit> rows) override;
    void add_costs(std::int64_t rows, std::int64_t values) override;
    void add_attention(Unit pairs, std::int64_t width, std::int64_t window) override;

    // A use that is no part of a model: of an optimizer, of a data loader.
    void add_use(const SlotPlace& place, Phase phase, std::shared_ptr<const Request> request);
    const Requests& requests() const { return requests_; }

    // Equal uses of consecutive layers are one; sorted by kind, slot and phase.
    std::vector<resolver::SlotUse> uses() const;
    // Equal parts of consecutive layers are one.
    std::vector<ModelPart> parts() const;
    // In the order in which they are asked for.
    const std::vector<DescribedParameter>& parameters() const { return parameters_; }
    // Those of layers, without adapters: "encoder.0.attention.q".
    const std::vector<std::string>& linear_layers() const { return linear_layers_; }

private:
    struct LayerPart {
        ModelPart part;
        std::string label;
        std::optional<config::LayerId> first, last;
        std::int64_t rows;
        bool runs;  // on this process
    };
    bool runs_here(const std::string& name, const config::LayerId* layer) const;

    runtime::Operation operation(const SlotPlace& place, Phase phase, const MakeRequest& request) override;
    void note_linear(const LinearPlace& place, std::int64_t in, std::int64_t out) override;
    config::Origin origin_of(const SlotPlace& place) const;

    Requests requests_;
    double value_bytes_;
    std::vector<resolver::SlotUse> uses_;
    std::vector<LayerPart> parts_;
    std::vector<DescribedParameter> parameters_;
    std::vector<std::string> linear_layers_;
};

}  // namespace switchyard::model
