// Linear layers in float8: E4M3 forward, E5M2 for the gradients backward (Micikevicius et al. 2022,
// arXiv:2209.05433), the rest as bf16 policies have it.
//
//     delayed    scales from the magnitudes of the steps before, one a tensor (amax_history.h)
//     current    scales from the present values, one a tensor or one a row
//     blockwise  the same for 1 x 128 values of x and of gradients and for 128 x 128 of weights, powers of
//                two (DeepSeek-V3, arXiv:2412.19437, section 3.3)
//
// Parameters stay in float32 and are cast once a step, for both directions. What was decided is reported as
// variant: float8, or why not. Products are scaled_linear.h's.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

#include "amax_history.h"
#include "float8.h"
#include "selection.h"

namespace switchyard {

class Fp8Policy final : public Precision {
public:
    explicit Fp8Policy(const CreateInfo& info);
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);

    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    // A layer at the end of its stack is not known by its name: it computes in bfloat16 where this says
    // float8.
    DType compute(OpClass op, const std::string& layer) const override;

    bool quantize(const LinearInputs& inputs, const LinearSite& site, bool for_gradient,
                  QuantizedInputs& made) override;
    QuantizedGradients quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                         const LinearOperand& kept_x, const LinearSite& site,
                                         const LinearNeeds& needs) override;

    void* query(std::string_view id) override;

    void begin_step() override;
    void end_step() override { weights_.clear(); }
    void set_recompute(bool recompute) override { recompute_ = recompute; }
    // Takes the step's magnitudes over: here and not in end_step, which also ends steps that were given up.
    void update(bool found_inf) override;
    PrecisionState state() const override;
    void load(const PrecisionState& state) override { history_.load(state); }

private:
    enum class Recipe : std::uint8_t { delayed, current, blockwise };
    // A weight [out, in] as it was cast, and its transpose from when backward needs it.
    struct Weight {
        at::Tensor source;  // keeps the memory from being somebody else's
        std::int64_t version = 0;
        fp8::Scaled by_rows;
        LinearOperand by_columns;
    };

    const char* why_not(const LinearInputs& inputs, const LinearSite& site) const;
    fp8::Scaled cast(const at::Tensor& x, fp8::Role role, const LinearSite& site);
    Weight& weight(const at::Tensor& weight, const LinearSite& site);
    const LinearOperand& transposed_weight(const at::Tensor& weight, const LinearSite& site);
    void record(const LinearSite& site, fp8::Role role, const at::Tensor& amax);
    LinearOperand kept(const at::Tensor& x_RI, const LinearOperand& cast_RI, const LinearSite& site);

    Recipe recipe_;
    bool rows_;  // a scale for each row
    double min_intensity_;
    fp8::Keep keep_;
    fp8::AmaxHistory history_;
    std::unordered_map<std::string, Weight> weights_;  // by site
    bool recompute_ = false;
};

}  // namespace switchyard
