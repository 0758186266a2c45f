// Digests of the layout of everything that crosses the boundary between core and plugin: sizes, alignments,
// offsets of all members in the order in which they are declared, and the virtual functions of each interface
// in the order of its vtable. Host and plugin each compute them when they are compiled and compare them
// before loading: two builds that agree in them read each other's objects the same way.
//
// There is one of what all kinds share, and one for each kind, of which a plugin's own kinds are compared: a
// change of one kind's contract turns away the plugins of that kind alone, and a new kind none.
//
// They belong to abi 1. What is added later (new structs, new interfaces found through Component::query) gets
// a digest of its own and does not come in here, so that adding something does not turn away the plugins that
// exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// The functions in the order of the vtable; "~" stands for the two entries of a destructor. (A test compares
// it with the vtables' offsets.)
struct InterfaceLayout {
    std::string_view name;
    std::string_view functions;
};
inline constexpr InterfaceLayout interface_layouts[] = {
    {"Component", "~ query"},
    {"Attention", "~ query forward backward"},
    {"Normalization", "~ query forward backward"},
    {"Activation", "~ query forward backward"},
    {"Loss", "~ query forward backward"},
    {"Optimizer", "~ query bind step state load"},
    {"Precision",
     "~ query storage compute tf32 quantize quantize_gradient begin_step end_step set_recompute loss_scale "
     "update state load"},
    {"DataLoader", "~ query start batches next position seek ready"},
    {"Linear", "~ query forward input_gradient weight_gradient prepare prepare_quantized"},
    {"SampleSource", "~ size length target_length get"},
};
constexpr const InterfaceLayout& interface_of(Kind kind) {
    return interface_layouts[1 + static_cast<std::size_t>(kind)];
}
static_assert(std::size(interface_layouts) == all_kinds.size() + 2,
              "the functions of a kind's interface are missing above");
constexpr bool interfaces_in_order() {
    for (const Kind kind : all_kinds) {
        const auto request = visit(kind, [](auto traits) { return traits.request_name; });
        if (!request.starts_with(interface_of(kind).name)) return false;
    }
    return true;
}
static_assert(interfaces_in_order(), "interfaces stand above in the order of kinds.h");

// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
class LayoutDigest {
public:
    constexpr LayoutDigest& text(std::string_view text) {
        for (const char c : text) mix(static_cast<unsigned char>(c));
        return mix(0);
    }
    constexpr LayoutDigest& number(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) mix(static_cast<unsigned char>(value >> (8 * byte)));
        return *this;
    }
    template <class T>
    constexpr LayoutDigest& type(std::string_view name, std::initializer_list<std::size_t> offsets = {}) {
        text(name).number(sizeof(T)).number(alignof(T));
        for (const std::size_t offset : offsets) number(offset);
        return *this;
    }
    constexpr std::uint64_t value() const { return hash_; }

private:
    constexpr LayoutDigest& mix(unsigned char byte) {
        hash_ = (hash_ ^ byte) * 0x100000001B3U;
        return *this;
    }
    std::uint64_t hash_ = 0xCBF29CE484222325U;
};

// offsetof of types that are not standard layout is "conditionally supported": GCC and Clang do support it
// where, as here, there is no virtual base.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// The C structures grow at their end: of them the places of what is there count, and no sizes.
constexpr void digest_exports(LayoutDigest& digest) {
    using C = SwitchyardComponent;
    using P = SwitchyardPlugin;
    for (const std::size_t offset :
         {offsetof(C, kind), offsetof(C, id), offsetof(C, supports), offsetof(C, create),
          offsetof(C, destroy), offsetof(P, component_count), offsetof(P, components), offsetof(P, init)})
        digest.number(offset);
}

constexpr void digest_basics(LayoutDigest& digest) {
    digest.type<at::Tensor>("Tensor")
        .type<std::string>("string")
        .type<std::vector<int>>("vector")
        .type<OptionValue>("OptionValue");
    digest.type<Options>("Options").type<Component>("Component");
    digest.type<Range>("Range", {offsetof(Range, min), offsetof(Range, max)});
    digest.type<Reason>("Reason",
                        {offsetof(Reason, code), offsetof(Reason, field), offsetof(Reason, expected),
                         offsetof(Reason, got), offsetof(Reason, hint)});
    digest.type<Verdict>("Verdict", {offsetof(Verdict, reasons)});
    digest.type<DeviceInfo>(
        "DeviceInfo",
        {offsetof(DeviceInfo, device), offsetof(DeviceInfo, index), offsetof(DeviceInfo, name),
         offsetof(DeviceInfo, compute_capability), offsetof(DeviceInfo, memory_bytes),
         offsetof(DeviceInfo, multiprocessors), offsetof(DeviceInfo, shared_memory_per_block_bytes)});
    digest.type<HostInfo>("HostInfo", {offsetof(HostInfo, name), offsetof(HostInfo, described),
                                       offsetof(HostInfo, cpu_model), offsetof(HostInfo, cores),
                                       offsetof(HostInfo, cpu_features), offsetof(HostInfo, l2_bytes),
                                       offsetof(HostInfo, l3_bytes), offsetof(HostInfo, memory_bytes),
                                       offsetof(HostInfo, libtorch_version), offsetof(HostInfo, devices)});
    digest.type<CreateInfo>("CreateInfo", {offsetof(CreateInfo, request), offsetof(CreateInfo, variant),
                                           offsetof(CreateInfo, options), offsetof(CreateInfo, host),
                                           offsetof(CreateInfo, services), offsetof(CreateInfo, token)});
    digest.type<Saved>("Saved", {offsetof(Saved, tensors), offsetof(Saved, integers)});
    digest.type<Saved::Entry>("Saved::Entry", {offsetof(Saved::Entry, tensor), offsetof(Saved::Entry, role)});
    digest.type<Dropout>("Dropout", {offsetof(Dropout, p), offsetof(Dropout, seed)});
    digest.type<Tokens>("Tokens", {offsetof(Tokens, layout), offsetof(Tokens, lengths),
                                   offsetof(Tokens, cu_seqlens), offsetof(Tokens, positions),
                                   offsetof(Tokens, max_seqlen), offsetof(Tokens, first_document)});
}

// Of the members of requests, name and type in their order, from which their offsets follow.
constexpr void digest_common_request(LayoutDigest& digest) {
    const Request common;
    digest.type<Request>("Request");
    Request::each_common_field(
        common, [&]<class Member>(std::string_view name, const Member&) { digest.type<Member>(name); });
}

template <class Traits>
constexpr void digest_request(LayoutDigest& digest, Traits) {
    const typename Traits::Request request;
    digest.type<typename Traits::Request>(Traits::request_name);
    request.each_field(
        request, [&]<class Member>(std::string_view name, const Member&) { digest.type<Member>(name); });
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::attention>) {
    using I = AttentionInputs;
    digest.type<I>("AttentionInputs", {offsetof(I, q), offsetof(I, k), offsetof(I, v),
                                       offsetof(I, relative_bias), offsetof(I, dense_bias)});
    using M = AttentionMask;
    digest.type<M>(
        "AttentionMask",
        {offsetof(M, kinds), offsetof(M, key_lengths), offsetof(M, query_offsets), offsetof(M, window_left),
         offsetof(M, window_right), offsetof(M, prefix_lengths), offsetof(M, alibi_slopes),
         offsetof(M, soft_cap), offsetof(M, relative_bidirectional), offsetof(M, relative_max_distance),
         offsetof(M, cu_seqlens_q), offsetof(M, cu_seqlens_k), offsetof(M, max_seqlen_q),
         offsetof(M, max_seqlen_k), offsetof(M, first_document), offsetof(M, first_head)});
    using P = AttentionParams;
    digest.type<P>("AttentionParams", {offsetof(P, layout), offsetof(P, scale), offsetof(P, mask),
                                       offsetof(P, dropout), offsetof(P, want_lse), offsetof(P, pages)});
    using O = AttentionOutputs;
    digest.type<O>("AttentionOutputs", {offsetof(O, out), offsetof(O, lse)});
    using N = AttentionNeeds;
    digest.type<N>("AttentionNeeds", {offsetof(N, q), offsetof(N, k), offsetof(N, v),
                                      offsetof(N, relative_bias), offsetof(N, dense_bias)});
    using G = AttentionGrads;
    digest.type<G>("AttentionGrads", {offsetof(G, q), offsetof(G, k), offsetof(G, v),
                                      offsetof(G, relative_bias), offsetof(G, dense_bias)});
    using C = PagedCache;
    digest.type<C>("PagedCache", {offsetof(C, k_pages), offsetof(C, v_pages), offsetof(C, block_table),
                                  offsetof(C, lengths)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::normalization>) {
    using I = NormalizationInputs;
    digest.type<I>("NormalizationInputs", {offsetof(I, x), offsetof(I, bias), offsetof(I, residual),
                                           offsetof(I, weight), offsetof(I, beta)});
    using P = NormalizationParams;
    digest.type<P>("NormalizationParams",
                   {offsetof(P, norm), offsetof(P, eps), offsetof(P, dropout), offsetof(P, tokens)});
    using O = NormalizationOutputs;
    digest.type<O>("NormalizationOutputs", {offsetof(O, y), offsetof(O, sum)});
    using N = NormalizationNeeds;
    digest.type<N>("NormalizationNeeds", {offsetof(N, x), offsetof(N, bias), offsetof(N, residual),
                                          offsetof(N, weight), offsetof(N, beta)});
    using G = NormalizationGrads;
    digest.type<G>("NormalizationGrads", {offsetof(G, x), offsetof(G, bias), offsetof(G, residual),
                                          offsetof(G, weight), offsetof(G, beta)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::activation>) {
    digest.type<ActivationInputs>("ActivationInputs",
                                  {offsetof(ActivationInputs, x), offsetof(ActivationInputs, bias)});
    using A = ActivationParams;
    digest.type<A>("ActivationParams", {offsetof(A, activation), offsetof(A, dropout), offsetof(A, tokens)});
    digest.type<ActivationNeeds>("ActivationNeeds",
                                 {offsetof(ActivationNeeds, x), offsetof(ActivationNeeds, bias)});
    digest.type<ActivationGrads>("ActivationGrads",
                                 {offsetof(ActivationGrads, x), offsetof(ActivationGrads, bias)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::loss>) {
    using I = LossInputs;
    digest.type<I>("LossInputs",
                   {offsetof(I, x), offsetof(I, weight), offsetof(I, bias), offsetof(I, targets)});
    using P = LossParams;
    digest.type<P>("LossParams", {offsetof(P, reduction), offsetof(P, divisor), offsetof(P, ignore_index),
                                  offsetof(P, label_smoothing), offsetof(P, z_loss),
                                  offsetof(P, may_overwrite_logits), offsetof(P, loss)});
    digest.type<LossOutputs>("LossOutputs", {offsetof(LossOutputs, loss), offsetof(LossOutputs, count)});
    digest.type<LossNeeds>("LossNeeds",
                           {offsetof(LossNeeds, x), offsetof(LossNeeds, weight), offsetof(LossNeeds, bias)});
    digest.type<LossGrads>("LossGrads",
                           {offsetof(LossGrads, x), offsetof(LossGrads, weight), offsetof(LossGrads, bias)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::optimizer>) {
    using P = Parameter;
    digest.type<P>("Parameter",
                   {offsetof(P, name), offsetof(P, value), offsetof(P, gradient), offsetof(P, master)});
    using H = HyperParameters;
    digest.type<H>("HyperParameters",
                   {offsetof(H, lr), offsetof(H, beta1), offsetof(H, beta2), offsetof(H, eps),
                    offsetof(H, weight_decay), offsetof(H, momentum), offsetof(H, nesterov)});
    using G = ParameterGroup;
    digest.type<G>("ParameterGroup", {offsetof(G, name), offsetof(G, hyper), offsetof(G, parameters)});
    using S = StepParams;
    digest.type<S>("StepParams", {offsetof(S, max_grad_norm), offsetof(S, grad_scale),
                                  offsetof(S, grad_scale_tensor), offsetof(S, lr_factor_tensor)});
    digest.type<StepResult>("StepResult", {offsetof(StepResult, grad_norm), offsetof(StepResult, found_inf)});
    using E = OptimizerStateEntry;
    digest.type<E>("OptimizerStateEntry", {offsetof(E, parameter), offsetof(E, key), offsetof(E, value)});
    using T = OptimizerState;
    digest.type<T>("OptimizerState", {offsetof(T, algorithm), offsetof(T, step), offsetof(T, entries)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::precision>) {
    digest.type<LinearSite>("LinearSite", {offsetof(LinearSite, name), offsetof(LinearSite, layer),
                                           offsetof(LinearSite, layers)});
    using I = LinearInputs;
    digest.type<I>("LinearInputs", {offsetof(I, x), offsetof(I, weight), offsetof(I, bias)});
    using Q = QuantizedInputs;
    digest.type<Q>("QuantizedInputs", {offsetof(Q, x), offsetof(Q, weight), offsetof(Q, kept_x)});
    digest.type<LinearNeeds>("LinearNeeds", {offsetof(LinearNeeds, x), offsetof(LinearNeeds, weight)});
    using G = QuantizedGradients;
    digest.type<G>("QuantizedGradients",
                   {offsetof(G, grad), offsetof(G, weight), offsetof(G, grad_t), offsetof(G, kept_x)});
    using E = PrecisionState::Entry;
    digest.type<PrecisionState>("PrecisionState")
        .type<E>("PrecisionState::Entry", {offsetof(E, key), offsetof(E, value)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::linear>) {
    using O = LinearOperand;
    digest.type<O>("LinearOperand", {offsetof(O, values), offsetof(O, inverse_scale), offsetof(O, group)});
    using P = PreparedWeight;
    digest.type<P>("PreparedWeight", {offsetof(P, form), offsetof(P, bytes), offsetof(P, replaces_weight)});
    using W = LinearWeight;
    digest.type<W>("LinearWeight", {offsetof(W, operand), offsetof(W, prepared)});
    using Q = QuantizedWeight;
    digest.type<Q>("QuantizedWeight", {offsetof(Q, values), offsetof(Q, scales), offsetof(Q, zero_points),
                                       offsetof(Q, input_scale), offsetof(Q, in), offsetof(Q, group)});
}

constexpr void digest_calls(LayoutDigest& digest, KindTraits<Kind::data_loader>) {
    using S = Sample;
    digest.type<S>("Sample", {offsetof(S, ids), offsetof(S, token_type_ids), offsetof(S, target_ids),
                              offsetof(S, labels), offsetof(S, documents), offsetof(S, float_labels)});
    using P = LoaderParams;
    digest.type<P>("LoaderParams",
                   {offsetof(P, batch_size), offsetof(P, token_budget), offsetof(P, max_length),
                    offsetof(P, pad_multiple), offsetof(P, pad_id), offsetof(P, layout), offsetof(P, shuffle),
                    offsetof(P, drop_last), offsetof(P, pinned), offsetof(P, seed), offsetof(P, rank),
                    offsetof(P, world_size)});
    digest.type<LoaderPosition>("LoaderPosition",
                                {offsetof(LoaderPosition, epoch), offsetof(LoaderPosition, batch)});
    using T = TokenBatch;
    digest.type<T>("TokenBatch",
                   {offsetof(T, ids), offsetof(T, token_type_ids), offsetof(T, tokens), offsetof(T, count)});
    digest.type<Batch>("Batch", {offsetof(Batch, source), offsetof(Batch, target), offsetof(Batch, labels),
                                 offsetof(Batch, samples), offsetof(Batch, float_labels)});
}
#pragma GCC diagnostic pop

// Of what all kinds share.
constexpr std::uint64_t layout_digest() {
    LayoutDigest digest;
    digest_exports(digest);
    digest_basics(digest);
    digest_common_request(digest);
    digest.text(interface_layouts[0].name).text(interface_layouts[0].functions);
    return digest.value();
}

constexpr std::uint64_t layout_digest(Kind kind) {
    LayoutDigest digest;
    visit(kind, [&](auto traits) {
        digest_request(digest, traits);
        digest_calls(digest, traits);
    });
    digest.text(interface_of(kind).name).text(interface_of(kind).functions);
    if (kind == Kind::data_loader) {
        constexpr const InterfaceLayout& source = interface_layouts[std::size(interface_layouts) - 1];
        digest.text(source.name).text(source.functions);
    }
    return digest.value();
}

}  // namespace switchyard
