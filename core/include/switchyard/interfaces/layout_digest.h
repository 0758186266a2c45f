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

struct Extent {
    std::size_t size, alignment;
};
template <class T>
inline constexpr Extent extent_of{sizeof(T), alignof(T)};

// A member of a structure, and where it lies.
struct LayoutMember {
    std::string_view name;
    std::size_t offset;
};

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
    constexpr LayoutDigest& type(std::string_view name, Extent extent,
                                 std::initializer_list<LayoutMember> members = {}) {
        text(name).number(extent.size).number(extent.alignment);
        return places({}, members);
    }
    // Of a structure that grows at its end: no size.
    constexpr LayoutDigest& places(std::string_view, std::initializer_list<LayoutMember> members) {
        for (const LayoutMember& member : members) number(member.offset);
        return *this;
    }
    constexpr LayoutDigest& functions(const InterfaceLayout& interface) {
        return text(interface.name).text(interface.functions);
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
#define SWITCHYARD_MEMBER(Type, member) \
    LayoutMember { #member, offsetof(Type, member) }

// The C structures grow at their end: of them the places of what is there count, and no sizes.
template <class Digest>
constexpr void digest_exports(Digest& digest) {
    using C = SwitchyardComponent;
    using P = SwitchyardPlugin;
    digest.places("SwitchyardComponent",
                  {SWITCHYARD_MEMBER(C, kind), SWITCHYARD_MEMBER(C, id), SWITCHYARD_MEMBER(C, supports),
                   SWITCHYARD_MEMBER(C, create), SWITCHYARD_MEMBER(C, destroy)});
    digest.places("SwitchyardPlugin", {SWITCHYARD_MEMBER(P, component_count),
                                       SWITCHYARD_MEMBER(P, components), SWITCHYARD_MEMBER(P, init)});
}

template <class Digest>
constexpr void digest_basics(Digest& digest) {
    digest.type("Tensor", extent_of<at::Tensor>)
        .type("string", extent_of<std::string>)
        .type("vector", extent_of<std::vector<int>>)
        .type("OptionValue", extent_of<OptionValue>);
    digest.type("Options", extent_of<Options>).type("Component", extent_of<Component>);
    digest.type("Range", extent_of<Range>, {SWITCHYARD_MEMBER(Range, min), SWITCHYARD_MEMBER(Range, max)});
    digest.type("Reason", extent_of<Reason>,
                {SWITCHYARD_MEMBER(Reason, code), SWITCHYARD_MEMBER(Reason, field),
                 SWITCHYARD_MEMBER(Reason, expected), SWITCHYARD_MEMBER(Reason, got),
                 SWITCHYARD_MEMBER(Reason, hint)});
    digest.type("Verdict", extent_of<Verdict>, {SWITCHYARD_MEMBER(Verdict, reasons)});
    digest.type("DeviceInfo", extent_of<DeviceInfo>,
                {SWITCHYARD_MEMBER(DeviceInfo, device), SWITCHYARD_MEMBER(DeviceInfo, index),
                 SWITCHYARD_MEMBER(DeviceInfo, name), SWITCHYARD_MEMBER(DeviceInfo, compute_capability),
                 SWITCHYARD_MEMBER(DeviceInfo, memory_bytes), SWITCHYARD_MEMBER(DeviceInfo, multiprocessors),
                 SWITCHYARD_MEMBER(DeviceInfo, shared_memory_per_block_bytes)});
    digest.type("HostInfo", extent_of<HostInfo>,
                {SWITCHYARD_MEMBER(HostInfo, name), SWITCHYARD_MEMBER(HostInfo, described),
                 SWITCHYARD_MEMBER(HostInfo, cpu_model), SWITCHYARD_MEMBER(HostInfo, cores),
                 SWITCHYARD_MEMBER(HostInfo, cpu_features), SWITCHYARD_MEMBER(HostInfo, l2_bytes),
                 SWITCHYARD_MEMBER(HostInfo, l3_bytes), SWITCHYARD_MEMBER(HostInfo, memory_bytes),
                 SWITCHYARD_MEMBER(HostInfo, libtorch_version), SWITCHYARD_MEMBER(HostInfo, devices)});
    digest.type("CreateInfo", extent_of<CreateInfo>,
                {SWITCHYARD_MEMBER(CreateInfo, request), SWITCHYARD_MEMBER(CreateInfo, variant),
                 SWITCHYARD_MEMBER(CreateInfo, options), SWITCHYARD_MEMBER(CreateInfo, host),
                 SWITCHYARD_MEMBER(CreateInfo, services), SWITCHYARD_MEMBER(CreateInfo, token)});
    digest.type("Saved", extent_of<Saved>,
                {SWITCHYARD_MEMBER(Saved, tensors), SWITCHYARD_MEMBER(Saved, integers)});
    digest.type("Saved::Entry", extent_of<Saved::Entry>,
                {SWITCHYARD_MEMBER(Saved::Entry, tensor), SWITCHYARD_MEMBER(Saved::Entry, role)});
    digest.type("Dropout", extent_of<Dropout>,
                {SWITCHYARD_MEMBER(Dropout, p), SWITCHYARD_MEMBER(Dropout, seed)});
    digest.type("Tokens", extent_of<Tokens>,
                {SWITCHYARD_MEMBER(Tokens, layout), SWITCHYARD_MEMBER(Tokens, lengths),
                 SWITCHYARD_MEMBER(Tokens, cu_seqlens), SWITCHYARD_MEMBER(Tokens, positions),
                 SWITCHYARD_MEMBER(Tokens, max_seqlen), SWITCHYARD_MEMBER(Tokens, first_document)});
}

// Of the members of requests, name and type in their order, from which their offsets follow.
template <class Digest>
constexpr void digest_common_request(Digest& digest) {
    const Request common;
    digest.type("Request", extent_of<Request>);
    Request::each_common_field(common, [&]<class Member>(std::string_view name, const Member&) {
        digest.type(name, extent_of<Member>);
    });
}

// A request that is named, and never made: clang 14 makes no string of libstdc++'s while it compiles.
template <class T>
union Unmade {
    char none = 0;
    T value;
    constexpr Unmade() {}
    constexpr ~Unmade() {}
};

template <class Digest, class Traits>
constexpr void digest_request(Digest& digest, Traits) {
    const Unmade<typename Traits::Request> request;
    digest.type(Traits::request_name, extent_of<typename Traits::Request>);
    Traits::Request::each_field(request.value, [&]<class Member>(std::string_view name, const Member&) {
        digest.type(name, extent_of<Member>);
    });
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::attention>) {
    using I = AttentionInputs;
    digest.type("AttentionInputs", extent_of<I>,
                {SWITCHYARD_MEMBER(I, q), SWITCHYARD_MEMBER(I, k), SWITCHYARD_MEMBER(I, v),
                 SWITCHYARD_MEMBER(I, relative_bias), SWITCHYARD_MEMBER(I, dense_bias)});
    using M = AttentionMask;
    digest.type("AttentionMask", extent_of<M>,
                {SWITCHYARD_MEMBER(M, kinds), SWITCHYARD_MEMBER(M, key_lengths),
                 SWITCHYARD_MEMBER(M, query_offsets), SWITCHYARD_MEMBER(M, window_left),
                 SWITCHYARD_MEMBER(M, window_right), SWITCHYARD_MEMBER(M, prefix_lengths),
                 SWITCHYARD_MEMBER(M, alibi_slopes), SWITCHYARD_MEMBER(M, soft_cap),
                 SWITCHYARD_MEMBER(M, relative_bidirectional), SWITCHYARD_MEMBER(M, relative_max_distance),
                 SWITCHYARD_MEMBER(M, cu_seqlens_q), SWITCHYARD_MEMBER(M, cu_seqlens_k),
                 SWITCHYARD_MEMBER(M, max_seqlen_q), SWITCHYARD_MEMBER(M, max_seqlen_k),
                 SWITCHYARD_MEMBER(M, first_document), SWITCHYARD_MEMBER(M, first_head)});
    using P = AttentionParams;
    digest.type("AttentionParams", extent_of<P>,
                {SWITCHYARD_MEMBER(P, layout), SWITCHYARD_MEMBER(P, scale), SWITCHYARD_MEMBER(P, mask),
                 SWITCHYARD_MEMBER(P, dropout), SWITCHYARD_MEMBER(P, want_lse), SWITCHYARD_MEMBER(P, pages)});
    using O = AttentionOutputs;
    digest.type("AttentionOutputs", extent_of<O>, {SWITCHYARD_MEMBER(O, out), SWITCHYARD_MEMBER(O, lse)});
    using N = AttentionNeeds;
    digest.type("AttentionNeeds", extent_of<N>,
                {SWITCHYARD_MEMBER(N, q), SWITCHYARD_MEMBER(N, k), SWITCHYARD_MEMBER(N, v),
                 SWITCHYARD_MEMBER(N, relative_bias), SWITCHYARD_MEMBER(N, dense_bias)});
    using G = AttentionGrads;
    digest.type("AttentionGrads", extent_of<G>,
                {SWITCHYARD_MEMBER(G, q), SWITCHYARD_MEMBER(G, k), SWITCHYARD_MEMBER(G, v),
                 SWITCHYARD_MEMBER(G, relative_bias), SWITCHYARD_MEMBER(G, dense_bias)});
    using C = PagedCache;
    digest.type("PagedCache", extent_of<C>,
                {SWITCHYARD_MEMBER(C, k_pages), SWITCHYARD_MEMBER(C, v_pages),
                 SWITCHYARD_MEMBER(C, block_table), SWITCHYARD_MEMBER(C, lengths)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::normalization>) {
    using I = NormalizationInputs;
    digest.type("NormalizationInputs", extent_of<I>,
                {SWITCHYARD_MEMBER(I, x), SWITCHYARD_MEMBER(I, bias), SWITCHYARD_MEMBER(I, residual),
                 SWITCHYARD_MEMBER(I, weight), SWITCHYARD_MEMBER(I, beta)});
    using P = NormalizationParams;
    digest.type("NormalizationParams", extent_of<P>,
                {SWITCHYARD_MEMBER(P, norm), SWITCHYARD_MEMBER(P, eps), SWITCHYARD_MEMBER(P, dropout),
                 SWITCHYARD_MEMBER(P, tokens)});
    using O = NormalizationOutputs;
    digest.type("NormalizationOutputs", extent_of<O>, {SWITCHYARD_MEMBER(O, y), SWITCHYARD_MEMBER(O, sum)});
    using N = NormalizationNeeds;
    digest.type("NormalizationNeeds", extent_of<N>,
                {SWITCHYARD_MEMBER(N, x), SWITCHYARD_MEMBER(N, bias), SWITCHYARD_MEMBER(N, residual),
                 SWITCHYARD_MEMBER(N, weight), SWITCHYARD_MEMBER(N, beta)});
    using G = NormalizationGrads;
    digest.type("NormalizationGrads", extent_of<G>,
                {SWITCHYARD_MEMBER(G, x), SWITCHYARD_MEMBER(G, bias), SWITCHYARD_MEMBER(G, residual),
                 SWITCHYARD_MEMBER(G, weight), SWITCHYARD_MEMBER(G, beta)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::activation>) {
    digest.type("ActivationInputs", extent_of<ActivationInputs>,
                {SWITCHYARD_MEMBER(ActivationInputs, x), SWITCHYARD_MEMBER(ActivationInputs, bias)});
    using A = ActivationParams;
    digest.type(
        "ActivationParams", extent_of<A>,
        {SWITCHYARD_MEMBER(A, activation), SWITCHYARD_MEMBER(A, dropout), SWITCHYARD_MEMBER(A, tokens)});
    digest.type("ActivationNeeds", extent_of<ActivationNeeds>,
                {SWITCHYARD_MEMBER(ActivationNeeds, x), SWITCHYARD_MEMBER(ActivationNeeds, bias)});
    digest.type("ActivationGrads", extent_of<ActivationGrads>,
                {SWITCHYARD_MEMBER(ActivationGrads, x), SWITCHYARD_MEMBER(ActivationGrads, bias)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::loss>) {
    using I = LossInputs;
    digest.type("LossInputs", extent_of<I>,
                {SWITCHYARD_MEMBER(I, x), SWITCHYARD_MEMBER(I, weight), SWITCHYARD_MEMBER(I, bias),
                 SWITCHYARD_MEMBER(I, targets)});
    using P = LossParams;
    digest.type(
        "LossParams", extent_of<P>,
        {SWITCHYARD_MEMBER(P, reduction), SWITCHYARD_MEMBER(P, divisor), SWITCHYARD_MEMBER(P, ignore_index),
         SWITCHYARD_MEMBER(P, label_smoothing), SWITCHYARD_MEMBER(P, z_loss),
         SWITCHYARD_MEMBER(P, may_overwrite_logits), SWITCHYARD_MEMBER(P, loss)});
    digest.type("LossOutputs", extent_of<LossOutputs>,
                {SWITCHYARD_MEMBER(LossOutputs, loss), SWITCHYARD_MEMBER(LossOutputs, count)});
    digest.type("LossNeeds", extent_of<LossNeeds>,
                {SWITCHYARD_MEMBER(LossNeeds, x), SWITCHYARD_MEMBER(LossNeeds, weight),
                 SWITCHYARD_MEMBER(LossNeeds, bias)});
    digest.type("LossGrads", extent_of<LossGrads>,
                {SWITCHYARD_MEMBER(LossGrads, x), SWITCHYARD_MEMBER(LossGrads, weight),
                 SWITCHYARD_MEMBER(LossGrads, bias)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::optimizer>) {
    using P = Parameter;
    digest.type("Parameter", extent_of<P>,
                {SWITCHYARD_MEMBER(P, name), SWITCHYARD_MEMBER(P, value), SWITCHYARD_MEMBER(P, gradient),
                 SWITCHYARD_MEMBER(P, master)});
    using H = HyperParameters;
    digest.type("HyperParameters", extent_of<H>,
                {SWITCHYARD_MEMBER(H, lr), SWITCHYARD_MEMBER(H, beta1), SWITCHYARD_MEMBER(H, beta2),
                 SWITCHYARD_MEMBER(H, eps), SWITCHYARD_MEMBER(H, weight_decay),
                 SWITCHYARD_MEMBER(H, momentum), SWITCHYARD_MEMBER(H, nesterov)});
    using G = ParameterGroup;
    digest.type("ParameterGroup", extent_of<G>,
                {SWITCHYARD_MEMBER(G, name), SWITCHYARD_MEMBER(G, hyper), SWITCHYARD_MEMBER(G, parameters)});
    using S = StepParams;
    digest.type("StepParams", extent_of<S>,
                {SWITCHYARD_MEMBER(S, max_grad_norm), SWITCHYARD_MEMBER(S, grad_scale),
                 SWITCHYARD_MEMBER(S, grad_scale_tensor), SWITCHYARD_MEMBER(S, lr_factor_tensor)});
    digest.type("StepResult", extent_of<StepResult>,
                {SWITCHYARD_MEMBER(StepResult, grad_norm), SWITCHYARD_MEMBER(StepResult, found_inf)});
    using E = OptimizerStateEntry;
    digest.type("OptimizerStateEntry", extent_of<E>,
                {SWITCHYARD_MEMBER(E, parameter), SWITCHYARD_MEMBER(E, key), SWITCHYARD_MEMBER(E, value)});
    using T = OptimizerState;
    digest.type("OptimizerState", extent_of<T>,
                {SWITCHYARD_MEMBER(T, algorithm), SWITCHYARD_MEMBER(T, step), SWITCHYARD_MEMBER(T, entries)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::precision>) {
    digest.type("LinearSite", extent_of<LinearSite>,
                {SWITCHYARD_MEMBER(LinearSite, name), SWITCHYARD_MEMBER(LinearSite, layer),
                 SWITCHYARD_MEMBER(LinearSite, layers)});
    using I = LinearInputs;
    digest.type("LinearInputs", extent_of<I>,
                {SWITCHYARD_MEMBER(I, x), SWITCHYARD_MEMBER(I, weight), SWITCHYARD_MEMBER(I, bias)});
    using Q = QuantizedInputs;
    digest.type("QuantizedInputs", extent_of<Q>,
                {SWITCHYARD_MEMBER(Q, x), SWITCHYARD_MEMBER(Q, weight), SWITCHYARD_MEMBER(Q, kept_x)});
    digest.type("LinearNeeds", extent_of<LinearNeeds>,
                {SWITCHYARD_MEMBER(LinearNeeds, x), SWITCHYARD_MEMBER(LinearNeeds, weight)});
    using G = QuantizedGradients;
    digest.type("QuantizedGradients", extent_of<G>,
                {SWITCHYARD_MEMBER(G, grad), SWITCHYARD_MEMBER(G, weight), SWITCHYARD_MEMBER(G, grad_t),
                 SWITCHYARD_MEMBER(G, kept_x)});
    using E = PrecisionState::Entry;
    digest.type("PrecisionState", extent_of<PrecisionState>)
        .type("PrecisionState::Entry", extent_of<E>,
              {SWITCHYARD_MEMBER(E, key), SWITCHYARD_MEMBER(E, value)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::linear>) {
    using O = LinearOperand;
    digest.type(
        "LinearOperand", extent_of<O>,
        {SWITCHYARD_MEMBER(O, values), SWITCHYARD_MEMBER(O, inverse_scale), SWITCHYARD_MEMBER(O, group)});
    using P = PreparedWeight;
    digest.type(
        "PreparedWeight", extent_of<P>,
        {SWITCHYARD_MEMBER(P, form), SWITCHYARD_MEMBER(P, bytes), SWITCHYARD_MEMBER(P, replaces_weight)});
    using W = LinearWeight;
    digest.type("LinearWeight", extent_of<W>,
                {SWITCHYARD_MEMBER(W, operand), SWITCHYARD_MEMBER(W, prepared)});
    using Q = QuantizedWeight;
    digest.type(
        "QuantizedWeight", extent_of<Q>,
        {SWITCHYARD_MEMBER(Q, values), SWITCHYARD_MEMBER(Q, scales), SWITCHYARD_MEMBER(Q, zero_points),
         SWITCHYARD_MEMBER(Q, input_scale), SWITCHYARD_MEMBER(Q, in), SWITCHYARD_MEMBER(Q, group)});
}

template <class Digest>
constexpr void digest_calls(Digest& digest, KindTraits<Kind::data_loader>) {
    using S = Sample;
    digest.type(
        "Sample", extent_of<S>,
        {SWITCHYARD_MEMBER(S, ids), SWITCHYARD_MEMBER(S, token_type_ids), SWITCHYARD_MEMBER(S, target_ids),
         SWITCHYARD_MEMBER(S, labels), SWITCHYARD_MEMBER(S, documents), SWITCHYARD_MEMBER(S, float_labels)});
    using P = LoaderParams;
    digest.type("LoaderParams", extent_of<P>,
                {SWITCHYARD_MEMBER(P, batch_size), SWITCHYARD_MEMBER(P, token_budget),
                 SWITCHYARD_MEMBER(P, max_length), SWITCHYARD_MEMBER(P, pad_multiple),
                 SWITCHYARD_MEMBER(P, pad_id), SWITCHYARD_MEMBER(P, layout), SWITCHYARD_MEMBER(P, shuffle),
                 SWITCHYARD_MEMBER(P, drop_last), SWITCHYARD_MEMBER(P, pinned), SWITCHYARD_MEMBER(P, seed),
                 SWITCHYARD_MEMBER(P, rank), SWITCHYARD_MEMBER(P, world_size)});
    digest.type("LoaderPosition", extent_of<LoaderPosition>,
                {SWITCHYARD_MEMBER(LoaderPosition, epoch), SWITCHYARD_MEMBER(LoaderPosition, batch)});
    using T = TokenBatch;
    digest.type("TokenBatch", extent_of<T>,
                {SWITCHYARD_MEMBER(T, ids), SWITCHYARD_MEMBER(T, token_type_ids),
                 SWITCHYARD_MEMBER(T, tokens), SWITCHYARD_MEMBER(T, count)});
    digest.type(
        "Batch", extent_of<Batch>,
        {SWITCHYARD_MEMBER(Batch, source), SWITCHYARD_MEMBER(Batch, target), SWITCHYARD_MEMBER(Batch, labels),
         SWITCHYARD_MEMBER(Batch, samples), SWITCHYARD_MEMBER(Batch, float_labels)});
}
#undef SWITCHYARD_MEMBER
#pragma GCC diagnostic pop

// Of what all kinds share, told to a LayoutDigest or to what has the same functions.
template <class Digest>
constexpr void digest_shared(Digest& digest) {
    digest_exports(digest);
    digest_basics(digest);
    digest_common_request(digest);
    digest.functions(interface_layouts[0]);
}

template <class Digest>
constexpr void digest_kind(Digest& digest, Kind kind) {
    visit(kind, [&](auto traits) {
        digest_request(digest, traits);
        digest_calls(digest, traits);
    });
    digest.functions(interface_of(kind));
    if (kind == Kind::data_loader) digest.functions(interface_layouts[std::size(interface_layouts) - 1]);
}

constexpr std::uint64_t layout_digest() {
    LayoutDigest digest;
    digest_shared(digest);
    return digest.value();
}

constexpr std::uint64_t layout_digest(Kind kind) {
    LayoutDigest digest;
    digest_kind(digest, kind);
    return digest.value();
}

}  // namespace switchyard
