#include "core/kernel/runtime/stable/adapters.h"
#include "core/kernel/runtime/stable/exchange.h"

namespace switchyard::runtime::stable {
namespace {

SwitchyardStableMask mask_in_c(const AttentionMask& mask, Exchange& exchange) {
    return {.struct_size = sizeof(SwitchyardStableMask),
            .kinds = mask.kinds.bits,
            .key_lengths = exchange.lend(mask.key_lengths),
            .query_offsets = exchange.lend(mask.query_offsets),
            .prefix_lengths = exchange.lend(mask.prefix_lengths),
            .alibi_slopes = exchange.lend(mask.alibi_slopes),
            .cu_seqlens_q = exchange.lend(mask.cu_seqlens_q),
            .cu_seqlens_k = exchange.lend(mask.cu_seqlens_k),
            .window_left = mask.window_left,
            .window_right = mask.window_right,
            .soft_cap = mask.soft_cap,
            .relative_bidirectional = mask.relative_bidirectional,
            .relative_max_distance = mask.relative_max_distance,
            .max_seqlen_q = mask.max_seqlen_q,
            .max_seqlen_k = mask.max_seqlen_k,
            .first_document = mask.first_document,
            .first_head = mask.first_head};
}

// Keys and values are contiguous: reject_unstable refuses requests for pages.
class AttentionAdapter final : public Attention {
public:
    AttentionAdapter(const SwitchyardStableComponent& entry, const CreateInfo& info)
        : Attention(info), made_(entry, Kind::attention, info) {}

    AttentionOutputs forward(const AttentionInputs& in, const AttentionParams& params,
                             Saved* saved) override {
        Exchange exchange;
        const SwitchyardStableMask mask = mask_in_c(params.mask, exchange);
        SwitchyardStableAttentionForward call{.struct_size = sizeof(call),
                                              .layout = static_cast<std::int32_t>(params.layout),
                                              .scale = params.scale,
                                              .dropout_p = params.dropout.p,
                                              .dropout_seed = params.dropout.seed,
                                              .want_lse = params.want_lse,
                                              .mask = &mask,
                                              .q = exchange.lend(in.q),
                                              .k = exchange.lend(in.k),
                                              .v = exchange.lend(in.v),
                                              .relative_bias = exchange.lend(in.relative_bias),
                                              .dense_bias = exchange.lend(in.dense_bias),
                                              .saved = reinterpret_cast<SwitchyardStableSaved*>(saved),
                                              .out = nullptr,
                                              .lse = nullptr};
        const auto status = functions().forward(made_.get(), &call);
        const auto given = exchange.take(status, {{"out", call.out}, {"lse", call.lse}});
        return {given[0], given[1]};
    }

    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override {
        if (functions().backward == nullptr) return Attention::backward(params, saved, grad_out, needs);
        Exchange exchange;
        exchange.lend(saved);
        const SwitchyardStableMask mask = mask_in_c(params.mask, exchange);
        SwitchyardStableAttentionBackward call{
            .struct_size = sizeof(call),
            .layout = static_cast<std::int32_t>(params.layout),
            .scale = params.scale,
            .dropout_p = params.dropout.p,
            .dropout_seed = params.dropout.seed,
            .mask = &mask,
            .saved = reinterpret_cast<const SwitchyardStableSaved*>(&saved),
            .grad_out = exchange.lend(grad_out),
            .needs_q = needs.q,
            .needs_k = needs.k,
            .needs_v = needs.v,
            .needs_relative_bias = needs.relative_bias,
            .needs_dense_bias = needs.dense_bias,
            .q = nullptr,
            .k = nullptr,
            .v = nullptr,
            .relative_bias = nullptr,
            .dense_bias = nullptr};
        const auto status = functions().backward(made_.get(), &call);
        const auto given = exchange.take(status, {{"the gradient of q", call.q},
                                                  {"the gradient of k", call.k},
                                                  {"the gradient of v", call.v},
                                                  {"the gradient of relative_bias", call.relative_bias},
                                                  {"the gradient of dense_bias", call.dense_bias}});
        return {given[0], given[1], given[2], given[3], given[4]};
    }

private:
    const SwitchyardStableAttention& functions() const {
        return made_.functions<SwitchyardStableAttention>();
    }

    StableInstance made_;
};

}  // namespace

Attention* new_attention(const SwitchyardStableComponent& entry, const CreateInfo& info) {
    return new AttentionAdapter(entry, info);
}

}  // namespace switchyard::runtime::stable
