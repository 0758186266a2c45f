#include "core/kernel/runtime/stable/adapters.h"
#include "core/kernel/runtime/stable/exchange.h"

namespace switchyard::runtime::stable {
namespace {

SwitchyardStableTokens tokens_in_c(const Tokens& tokens, Exchange& exchange) {
    return {.struct_size = sizeof(SwitchyardStableTokens),
            .layout = static_cast<std::int32_t>(tokens.layout),
            .lengths = exchange.lend(tokens.lengths),
            .cu_seqlens = exchange.lend(tokens.cu_seqlens),
            .positions = exchange.lend(tokens.positions),
            .max_seqlen = tokens.max_seqlen,
            .first_document = tokens.first_document};
}

class NormalizationAdapter final : public Normalization {
public:
    NormalizationAdapter(const SwitchyardStableComponent& entry, const CreateInfo& info)
        : Normalization(info), made_(entry, Kind::normalization, info) {}

    NormalizationOutputs forward(const NormalizationInputs& in, const NormalizationParams& params,
                                 Saved* saved) override {
        Exchange exchange;
        const SwitchyardStableTokens tokens = tokens_in_c(params.tokens, exchange);
        SwitchyardStableNormalizationForward call{.struct_size = sizeof(call),
                                                  .norm = static_cast<std::int32_t>(params.norm),
                                                  .eps = params.eps,
                                                  .dropout_p = params.dropout.p,
                                                  .dropout_seed = params.dropout.seed,
                                                  .tokens = &tokens,
                                                  .x = exchange.lend(in.x),
                                                  .bias = exchange.lend(in.bias),
                                                  .residual = exchange.lend(in.residual),
                                                  .weight = exchange.lend(in.weight),
                                                  .beta = exchange.lend(in.beta),
                                                  .saved = reinterpret_cast<SwitchyardStableSaved*>(saved),
                                                  .y = nullptr,
                                                  .sum = nullptr};
        const auto status = functions().forward(made_.get(), &call);
        const auto given = exchange.take(status, {{"y", call.y}, {"sum", call.sum}});
        return {given[0], given[1]};
    }

    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override {
        if (functions().backward == nullptr)
            return Normalization::backward(params, saved, grad_y, grad_sum, needs);
        Exchange exchange;
        exchange.lend(saved);
        const SwitchyardStableTokens tokens = tokens_in_c(params.tokens, exchange);
        SwitchyardStableNormalizationBackward call{
            .struct_size = sizeof(call),
            .norm = static_cast<std::int32_t>(params.norm),
            .eps = params.eps,
            .dropout_p = params.dropout.p,
            .dropout_seed = params.dropout.seed,
            .tokens = &tokens,
            .saved = reinterpret_cast<const SwitchyardStableSaved*>(&saved),
            .grad_y = exchange.lend(grad_y),
            .grad_sum = exchange.lend(grad_sum),
            .needs_x = needs.x,
            .needs_bias = needs.bias,
            .needs_residual = needs.residual,
            .needs_weight = needs.weight,
            .needs_beta = needs.beta,
            .x = nullptr,
            .bias = nullptr,
            .residual = nullptr,
            .weight = nullptr,
            .beta = nullptr};
        const auto status = functions().backward(made_.get(), &call);
        const auto given = exchange.take(status, {{"the gradient of x", call.x},
                                                  {"the gradient of bias", call.bias},
                                                  {"the gradient of residual", call.residual},
                                                  {"the gradient of weight", call.weight},
                                                  {"the gradient of beta", call.beta}});
        return {given[0], given[1], given[2], given[3], given[4]};
    }

private:
    const SwitchyardStableNormalization& functions() const {
        return made_.functions<SwitchyardStableNormalization>();
    }

    StableInstance made_;
};

}  // namespace

Normalization* new_normalization(const SwitchyardStableComponent& entry, const CreateInfo& info) {
    return new NormalizationAdapter(entry, info);
}

}  // namespace switchyard::runtime::stable
