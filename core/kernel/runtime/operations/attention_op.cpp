#include "core/kernel/runtime/operations/attention_op.h"

#include <algorithm>
#include <array>
#include <optional>

#include <switchyard/interfaces/relative_buckets.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/paged_keys.h>
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::runtime {
namespace {

constexpr std::array<const char*, 5> attention_inputs{"q", "k", "v", "relative_bias", "dense_bias"};
constexpr std::array<const char*, 2> attention_outputs{"out", "lse"};

// The parameters with the page table that they point to.
struct KeptAttentionParams : AttentionParams {
    explicit KeptAttentionParams(const AttentionParams& params) : AttentionParams(params) {
        if (params.pages == nullptr) return;
        kept_pages = *params.pages;
        pages = &*kept_pages;
    }
    KeptAttentionParams(const KeptAttentionParams&) = delete;
    KeptAttentionParams& operator=(const KeptAttentionParams&) = delete;

    std::optional<PagedCache> kept_pages;
};

struct AttentionTraits {
    using Interface = Attention;
    using Inputs = AttentionInputs;
    using Params = AttentionParams;
    using KeptParams = KeptAttentionParams;

    static constexpr runtime::Signature signature{"attention.forward", "attention.backward", attention_inputs,
                                                  attention_outputs, 0b01};

    static std::array<const at::Tensor*, 5> pointers(const Inputs& inputs) {
        return {&inputs.q, &inputs.k, &inputs.v, &inputs.relative_bias, &inputs.dense_bias};
    }
    static Inputs inputs_of(const Tensors& list) { return {list[0], list[1], list[2], list[3], list[4]}; }

    static void forward(Attention& component, const Inputs& inputs, const Params& params, Tensors& outputs,
                        Saved* saved) {
        AttentionOutputs made = component.forward(inputs, params, saved);
        outputs.push_back(std::move(made.out));
        outputs.push_back(std::move(made.lse));
    }
    static Tensors backward(Attention& component, const Params& params, const Saved& saved,
                            const Tensors& grads, Needs needs) {
        AttentionGrads made =
            component.backward(params, saved, grads[0], {needs[0], needs[1], needs[2], needs[3], needs[4]});
        return {std::move(made.q), std::move(made.k), std::move(made.v), std::move(made.relative_bias),
                std::move(made.dense_bias)};
    }
    static Tensors reference(const Inputs& inputs, const Params& params) {
        AttentionOutputs made = reference::attention(inputs, params);
        return {std::move(made.out), std::move(made.lse)};
    }
    static std::uint64_t versions(const Params& params) {
        const AttentionMask& mask = params.mask;
        return versions_of({&mask.key_lengths, &mask.query_offsets, &mask.prefix_lengths, &mask.alibi_slopes,
                            &mask.cu_seqlens_q, &mask.cu_seqlens_k});
    }
};

struct Sizes {
    std::int64_t batch, heads, kv_heads, queries, keys, head_dim, v_head_dim;
};

Sizes padded_sizes(const Binding<Attention>& binding, const AttentionInputs& in) {
    const auto q = in.q.sizes(), k = in.k.sizes(), v = in.v.sizes();
    require(binding, q.size() == 4 && k.size() == 4 && v.size() == 4,
            "q, k and v must be [batch, heads, length, head_dim] in the padded layout, got ", q, ", ", k,
            " and ", v);
    require(binding, q[0] == k[0] && k[0] == v[0], "batch of q ", q, ", k ", k, " and v ", v, " differ");
    require(binding, k[1] == v[1] && k[2] == v[2], "k ", k, " and v ", v,
            " may only differ in their last dimension");
    return {q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
}

Sizes packed_sizes(const Binding<Attention>& binding, const AttentionInputs& in, const AttentionMask& mask) {
    const auto q = in.q.sizes(), k = in.k.sizes(), v = in.v.sizes();
    require(binding, q.size() == 3 && k.size() == 3 && v.size() == 3,
            "q, k and v must be [total, heads, head_dim] in the packed layout, got ", q, ", ", k, " and ", v);
    require(binding, k[0] == v[0] && k[1] == v[1], "k ", k, " and v ", v,
            " may only differ in their last dimension");
    require_cu_seqlens(binding, "cu_seqlens_q", mask.cu_seqlens_q, q[0]);
    require_cu_seqlens(binding, "cu_seqlens_k", mask.cu_seqlens_k, k[0]);
    const std::int64_t sequences = mask.cu_seqlens_q.size(0) - 1;
    require(binding, mask.cu_seqlens_k.size(0) == sequences + 1, "cu_seqlens_q has ", sequences + 1,
            " entries, cu_seqlens_k ", mask.cu_seqlens_k.size(0));
    return {sequences, q[1], k[1], mask.max_seqlen_q, mask.max_seqlen_k, q[2], v[2]};
}

Sizes paged_sizes(const Binding<Attention>& binding, const AttentionInputs& in,
                  const AttentionParams& params) {
    const auto q = in.q.sizes(), k = params.pages->k_pages.sizes(), v = params.pages->v_pages.sizes();
    const bool packed = params.layout == Layout::packed;
    require(binding, q.size() == (packed ? 3U : 4U) && k.size() == 4 && v.size() == 4,
            "q must be [batch, heads, queries, head_dim] or [total, heads, head_dim], and pages [pages, "
            "page_size, kv_heads, "
            "head_dim], got ",
            q, ", ", k, " and ", v);
    if (packed) require_cu_seqlens(binding, "cu_seqlens_q", params.mask.cu_seqlens_q, q[0]);
    const std::int64_t sequences = packed ? params.mask.cu_seqlens_q.size(0) - 1 : q[0];
    require_lengths(binding, "lengths of the paged cache", params.pages->lengths, sequences,
                    params.pages->block_table.size(1) * k[1]);
    // How many keys there are stands in a tensor that may lie on a device: not a reason to wait for it.
    return {sequences, q[1], k[2], packed ? params.mask.max_seqlen_q : q[2], binding.request().kv_length.min,
            q.back(),  v[3]};
}

void check_sizes(const Binding<Attention>& binding, const AttentionRequest& request, const Sizes& s,
                 std::int64_t k_head_dim) {
    require(binding, s.kv_heads > 0 && s.heads % s.kv_heads == 0, "heads (", s.heads,
            ") must be a multiple of kv heads (", s.kv_heads, ")");
    require(binding, k_head_dim == s.head_dim, "head_dim of q (", s.head_dim, ") and of k (", k_head_dim,
            ") differ");
    require_within(binding, "batch", s.batch, request.batch);
    require_within(binding, "heads", s.heads, request.heads);
    require_within(binding, "kv_heads", s.kv_heads, request.kv_heads);
    require_within(binding, "q_length", s.queries, request.q_length);
    require_within(binding, "kv_length", s.keys, request.kv_length);
    require_within(binding, "head_dim", s.head_dim, request.head_dim);
    require_within(binding, "v_head_dim", s.v_head_dim, request.v_head_dim);
}

void check_mask(const Binding<Attention>& binding, const AttentionInputs& in, const AttentionParams& params,
                const Sizes& s) {
    const AttentionMask& mask = params.mask;
    if (mask.kinds.has(MaskKind::key_lengths))
        require_lengths(binding, "key_lengths", mask.key_lengths, s.batch, s.keys);
    if (mask.kinds.has(MaskKind::prefix))
        require_lengths(binding, "prefix_lengths", mask.prefix_lengths, s.batch, s.keys);
    if (mask.query_offsets.defined() && params.layout == Layout::padded) {
        require(binding, mask.query_offsets.dim() == 1 && mask.query_offsets.size(0) == s.batch,
                "query_offsets must be [", s.batch, "], one a sequence");
    }
    if (mask.kinds.has(MaskKind::alibi)) {
        const at::Tensor& slopes = mask.alibi_slopes;
        require(binding, slopes.defined() && slopes.dim() == 1 && slopes.size(0) == s.heads,
                "alibi_slopes must be [", s.heads, "], one a head");
    }
    if (mask.kinds.has(MaskKind::relative_bias)) {
        const at::Tensor& table = in.relative_bias;
        require(binding, table.defined() && table.dim() == 2 && table.size(1) == s.heads,
                "relative_bias must be [buckets, ", s.heads, "]");
        const std::string fault =
            fault_of_relative_buckets(table.size(0), mask.relative_bidirectional, mask.relative_max_distance);
        require(binding, fault.empty(), fault);
    }
    if (mask.kinds.has(MaskKind::soft_cap)) {
        require(binding, mask.soft_cap > 0.0, "soft_cap must be above 0, got ", mask.soft_cap);
    }
    if (mask.kinds.has(MaskKind::dense_bias)) {
        require(binding, in.dense_bias.defined() && in.dense_bias.dim() <= 4,
                "dense_bias must be broadcastable to [batch, heads, queries, keys]");
    }
}

// Nothing but the lengths says how many keys of pages there are: those that can be read without waiting.
void check_bias_of_pages(const Binding<Attention>& binding, const AttentionInputs& in,
                         const AttentionParams& params) {
    if (!params.mask.kinds.has(MaskKind::dense_bias) || !params.pages->lengths.is_cpu()) return;
    require(binding, in.dense_bias.dim() >= 1, "dense_bias must have the keys as its last dimension");
    const std::int64_t width = in.dense_bias.size(-1);
    const at::Tensor lengths = params.pages->lengths.contiguous();
    const auto* const begin = lengths.const_data_ptr<std::int32_t>();
    const auto* const end = begin + lengths.numel();
    const std::int64_t longest = begin == end ? 0 : *std::max_element(begin, end);
    require(binding, width == 1 || width >= longest, "dense_bias has ", width,
            " keys, expected 1 or at least ", longest, ", the longest of the paged cache's lengths");
}

void check(const Binding<Attention>& binding, const AttentionInputs& in, const AttentionParams& params) {
    const AttentionRequest& request = binding.request();
    require_tensor(binding, "q", in.q);
    require(binding, params.layout == request.layout, "the layout is ", name(params.layout), ", bound for ",
            name(request.layout));
    if (!params.mask.kinds.within(request.masks)) [[unlikely]] {
        refuse(binding, "the masks are ", params.mask.kinds, ", bound for ", request.masks);
    }
    require(binding, !params.dropout.active() || request.dropout > 0.0, "dropout is ", params.dropout.p,
            ", bound for calls without it");
    require(binding, !params.mask.query_offsets.defined() || request.query_offsets,
            "query_offsets are given, bound for calls without them");
    require(binding, params.scale <= 0.0 || request.custom_scale, "scale is ", params.scale,
            ", bound for 1 / sqrt(head_dim) (custom_scale is false)");
    require(binding, !params.want_lse || request.want_lse, "want_lse is true, bound for calls without it");
    require(binding, (params.pages != nullptr) == request.paged_cache,
            params.pages == nullptr ? "bound for keys in a paged cache, and there is none"
                                    : "bound for keys without a paged cache");
    if (params.pages != nullptr) {
        Sizes sizes = paged_sizes(binding, in, params);
        check_sizes(binding, request, sizes, params.pages->k_pages.size(3));
        sizes.keys = params.pages->block_table.size(1) * params.pages->k_pages.size(1);  // at most
        check_mask(binding, in, params, sizes);
        return check_bias_of_pages(binding, in, params);
    }
    require_tensor(binding, "k", in.k);
    require_tensor(binding, "v", in.v);
    const Sizes sizes =
        params.layout == Layout::packed ? packed_sizes(binding, in, params.mask) : padded_sizes(binding, in);
    check_sizes(binding, request, sizes, in.k.sizes().back());
    check_mask(binding, in, params, sizes);
}

void check_result(const Binding<Attention>& binding, const AttentionInputs& in, const AttentionParams& params,
                  const AttentionOutputs& made) {
    const auto q = in.q.sizes();
    const std::int64_t v_head_dim =
        params.pages != nullptr ? params.pages->v_pages.size(3) : in.v.sizes().back();
    const bool right = made.out.defined() && made.out.scalar_type() == in.q.scalar_type() &&
                       made.out.sizes().size() == q.size() && made.out.sizes().back() == v_head_dim &&
                       made.out.sizes().slice(0, q.size() - 1) == q.slice(0, q.size() - 1) &&
                       made.lse.defined() == params.want_lse;
    if (right) [[likely]]
        return;
    std::ostringstream text;
    text << "returned out ";
    if (made.out.defined()) {
        text << made.out.scalar_type() << " " << made.out.sizes();
    } else {
        text << "undefined";
    }
    text << " for q " << in.q.scalar_type() << " " << q << " and v_head_dim " << v_head_dim << ", and "
         << (made.lse.defined() ? "an" : "no") << " lse where " << (params.want_lse ? "one" : "none")
         << " was asked for";
    throw runtime::PluginError(binding.site("attention.forward"), text.str());
}

}  // namespace

AttentionOp::AttentionOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Attention>>(loaded, std::move(info))),
      gathers_pages_(has_part(composed, "pages")) {
    check_binding(*binding_, composed, {"pages"}, binding_->request().dropout);
}

AttentionOutputs AttentionOp::operator()(const AttentionInputs& inputs, const AttentionParams& params) const {
    return shown(*this, inputs, params, run(inputs, params));
}

AttentionOutputs AttentionOp::run(const AttentionInputs& inputs, const AttentionParams& params) const {
    if (!gathers_pages_) return call_component(inputs, params);
    require(*binding_, params.pages != nullptr, "bound for keys in a paged cache, and there is none");
    require_tensor(*binding_, "q", inputs.q);
    (void)paged_sizes(*binding_, inputs, params);
    const auto keys = reference::padded_keys(*params.pages, inputs.q.size(2));
    AttentionInputs dense = inputs;
    dense.k = keys.k;
    dense.v = keys.v;
    AttentionParams padded = params;
    padded.pages = nullptr;
    padded.mask.kinds.insert(MaskKind::key_lengths);
    padded.mask.key_lengths = keys.key_lengths;
    if (!padded.mask.query_offsets.defined()) padded.mask.query_offsets = keys.query_offsets;
    return call_component(dense, padded);
}

AttentionOutputs AttentionOp::call_component(const AttentionInputs& inputs,
                                             const AttentionParams& params) const {
    check(*binding_, inputs, params);
    Tensors outputs;
    call<AttentionTraits>(binding_, inputs, params, outputs);
    AttentionOutputs made{std::move(outputs[0]), std::move(outputs[1])};
    check_result(*binding_, inputs, params, made);
    return made;
}

}  // namespace switchyard::runtime
