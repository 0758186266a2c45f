// The builder that makes: parameters with their paper's initialisation, and the operations of a plan.
//
// All random values come from one generator of run.seed, in the order of creation, drawn in float32 on the
// CPU whatever the dtype and device, so that a seed means the same model everywhere.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Generator.h>

#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::model {

class Maker final : public Builder {
public:
    // Parameters go into `parameters`. All three outlive the maker.
    Maker(const config::Config& config, const BoundPlan& plan, Parameters& parameters);

    at::Tensor parameter(const std::string& name, std::vector<std::int64_t> sizes, const Initial& initial,
                         const ParameterCut& cut) override;
    std::shared_ptr<const QuantizedWeight> quantized_weight(const std::string& linear, std::int64_t out,
                                                            std::int64_t in) override {
        return parameters_.add_quantized(linear, out, in);
    }
    at::Tensor constant(const std::function<at::Tensor()>& make) override;
    std::shared_ptr<const runtime::PrecisionOp> precision() const override {
        return plan_.shared_precision();
    }
    std::size_t count() const override { return parameters_.all().size(); }
    std::vector<at::Tensor> made_since(std::size_t count) const override;
    // All linear layers, for settle_weights (settled_weights.h).
    std::vector<Linear> linears() && { return std::move(linears_); }

private:
    void made(const Linear& linear) override { linears_.push_back(linear); }
    runtime::Operation operation(const SlotPlace& place, Phase phase, const MakeRequest&) override;

    const BoundPlan& plan_;
    Parameters& parameters_;
    at::TensorOptions options_;
    at::Generator generator_;
    std::vector<Linear> linears_;
};

// The model of `config`, which shares the operations of `plan`; its parameters go into `parameters`, and its
// linear layers into `linears` where that is given.
std::unique_ptr<Model> make_model(const config::Config& config, const BoundPlan& plan, Parameters& parameters,
                                  std::vector<Linear>* linears = nullptr);

}  // namespace switchyard::model
