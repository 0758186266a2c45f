#include <switchyard/conformance/attention_case.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/dropout_mask.h>

namespace switchyard::conformance {
namespace {

at::Tensor int32_tensor(const std::vector<std::int64_t>& values, at::Device device) {
    at::Tensor tensor =
        at::zeros({static_cast<std::int64_t>(values.size())}, at::TensorOptions().dtype(at::kInt));
    auto* data = tensor.mutable_data_ptr<std::int32_t>();
    for (std::size_t i = 0; i < values.size(); ++i) data[i] = static_cast<std::int32_t>(values[i]);
    return tensor.to(device);
}

std::vector<std::int64_t> running_sum(const std::vector<std::int64_t>& lengths) {
    std::vector<std::int64_t> offsets{0};
    for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
    return offsets;
}

std::int64_t total(const std::vector<std::int64_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::string masks_of(const AttentionSpec& spec) {
    MaskSet masks = spec.masks;
    masks.erase(MaskKind::documents);  // the layout says so
    return to_text(masks, "+");
}

std::shared_ptr<AttentionRequest> request_of(const AttentionSpec& spec, const VerifyOptions& options) {
    auto request = std::make_shared<AttentionRequest>();
    request->dtype = spec.dtype;
    request->device = options.device;
    request->layout = spec.layout;
    request->phase = spec.phase;
    request->needs_grad = !spec.needs.empty();
    request->deterministic = spec.deterministic;
    request->allow_reduced = true;
    request->batch = spec.batch;
    request->heads = spec.heads;
    request->kv_heads = spec.kv_heads;
    const auto range = [](const std::vector<std::int64_t>& lengths, std::int64_t single) {
        if (lengths.empty()) return Range(single);
        const auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
        return Range(*low, *high);
    };
    request->q_length = range(spec.q_lengths, spec.queries);
    request->kv_length = range(spec.k_lengths, spec.keys);
    request->head_dim = spec.head_dim;
    request->v_head_dim = spec.v_head_dim;
    request->masks = spec.masks;
    const bool bias = spec.masks.has(MaskKind::relative_bias) || spec.masks.has(MaskKind::dense_bias);
    request->bias_gradient = bias && spec.needs.find('b') != std::string::npos;
    request->dropout = spec.dropout;
    request->paged_cache = spec.page_size > 0;
    request->query_offsets = spec.offsets;
    request->custom_scale = spec.scale > 0.0;
    request->want_lse = spec.lse;
    return request;
}

// Everything that a case's calls share; lives as long as its Operation.
struct AttentionData {
    AttentionParams params;
    PagedCache pages;
};

class Builder {
public:
    Builder(const AttentionSpec& spec, const VerifyOptions& options, const Variation& variation)
        : spec_(spec),
          options_(options),
          device_(to_device_type(options.device)),
          type_(to_scalar_type(spec.dtype)),
          around_(surroundings(variation)),
          variation_(variation),
          seed_(seed_of(name_of(spec), options.seed, variation.draw)) {}

    std::shared_ptr<AttentionData> data() {
        auto data = std::make_shared<AttentionData>();
        AttentionParams& params = data->params;
        params.layout = spec_.layout;
        params.scale = spec_.scale;
        params.dropout = {spec_.dropout, seed_ ^ 0x5DEECE66DULL};
        params.want_lse = spec_.lse;
        fill_mask(params.mask);
        if (spec_.page_size > 0) {
            fill_pages(data->pages);
            params.pages = &data->pages;
        }
        return data;
    }

    Tensors inputs() {
        const bool packed = spec_.layout == Layout::packed;
        const std::int64_t B = spec_.batch, H = spec_.heads, K = spec_.kv_heads;
        Tensors values(5);
        values[0] =
            bell(packed ? sizes({queries(), H, spec_.head_dim}) : sizes({B, H, queries(), spec_.head_dim}),
                 seed_ + 1);
        values[0] = values[0] * (spec_.one_hot ? 0.0 : spec_.magnitude);
        if (spec_.page_size == 0) {
            values[1] =
                bell(packed ? sizes({keys(), K, spec_.head_dim}) : sizes({B, K, keys(), spec_.head_dim}),
                     seed_ + 2) *
                spec_.magnitude;
            values[2] = spec_.one_hot ? one_hot_values()
                                      : bell(packed ? sizes({keys(), K, spec_.v_head_dim})
                                                    : sizes({B, K, keys(), spec_.v_head_dim}),
                                             seed_ + 3);
            if (variation_.poison) fill_key_padding(values[1], values[2]);
        }
        for (int i = 0; i < 3; ++i) {
            if (spec_.nan == std::string(1, "qkv"[i])) put_nan_in_the_middle(values[i]);
        }
        Tensors placed(5);
        for (int i = 0; i < 3; ++i) {
            const bool batch_expanded = placement() == Placement::expanded && (i == 0 || packed);
            if (values[i].defined()) {
                placed[i] = place(values[i], type_, device_, batch_expanded ? Placement::dense : placement(),
                                  around_);
            }
        }
        if (spec_.masks.has(MaskKind::relative_bias)) {
            placed[3] =
                place(bell({spec_.buckets, H}, seed_ + 4), bias_type(), device_, Placement::dense, around_);
        }
        if (spec_.masks.has(MaskKind::dense_bias)) {
            const std::vector<std::int64_t> shapes[] = {
                sizes({B, H, queries(), keys()}), sizes({1, H, queries(), keys()}), sizes({B, 1, 1, keys()}),
                sizes({queries(), keys()}), sizes({B, H, queries(), 1})};
            placed[4] = place(dense_bias(shapes[spec_.dense_bias]), bias_type(), device_,
                              placement() == Placement::expanded ? Placement::dense : placement(), around_);
        }
        return placed;
    }

    at::Tensor grad_out() {
        const bool packed = spec_.layout == Layout::packed;
        const auto shape = packed ? sizes({queries(), spec_.heads, spec_.v_head_dim})
                                  : sizes({spec_.batch, spec_.heads, queries(), spec_.v_head_dim});
        at::Tensor values = bell(shape, seed_ + 6);
        if (spec_.nan == "grad_out") put_nan_in_the_middle(values);
        if (spec_.one_hot) {
            values.zero_();
            for (std::int64_t i = 0; i < std::min(queries(), spec_.v_head_dim); ++i)
                values.select(-2, i).select(-1, i).fill_(1.0);
        }
        return place(values, type_, device_, variation_.strided ? spec_.grad_placement : Placement::dense,
                     around_);
    }

private:
    static std::vector<std::int64_t> sizes(std::initializer_list<std::int64_t> list) { return list; }
    Placement placement() const { return variation_.strided ? spec_.placement : Placement::dense; }
    std::int64_t queries() const { return spec_.q_lengths.empty() ? spec_.queries : total(spec_.q_lengths); }
    std::int64_t keys() const { return spec_.k_lengths.empty() ? spec_.keys : total(spec_.k_lengths); }
    // Half of the 16-bit cases have float32 biases, which the contract allows.
    at::ScalarType bias_type() const {
        return spec_.dtype == DType::float64 ? type_ : seed_ % 2 == 0 ? at::kFloat : type_;
    }

    at::Tensor dense_bias(const std::vector<std::int64_t>& shape) const {
        at::Tensor bias = bell(shape, seed_ + 5);
        if (spec_.nan == "dense_bias") put_nan_in_the_middle(bias);
        if (!spec_.infinite_bias) return bias;
        constexpr double infinity = std::numeric_limits<double>::infinity();
        bias.masked_fill_(integers(shape, 0, 3, seed_ + 7).eq(0), -infinity);
        if (bias.size(-2) > 1) bias.select(-2, 1).fill_(-infinity);
        return bias;
    }

    // The number of real keys of row b: full, short, none, few. (Not one: its dk is zero but for rounding,
    // summed over all queries.)
    std::int64_t key_length(std::int64_t b) const {
        const std::int64_t choices[] = {spec_.keys, (spec_.keys * 2) / 3, 0, 3};
        return std::min(spec_.keys, choices[b % 4 == 2 && spec_.phase != Phase::train ? 1 : b % 4]);
    }

    void fill_mask(AttentionMask& mask) {
        mask.kinds = spec_.masks;
        mask.first_document = spec_.first_document;
        mask.first_head = spec_.first_head;
        const std::int64_t sequences = spec_.batch;
        std::vector<std::int64_t> lengths, prefixes, offsets;
        const std::int64_t moved =
            spec_.page_size > 0 ? 3 : 0;  // pages have the usual offsets without being told
        for (std::int64_t b = 0; b < sequences; ++b) {
            const std::int64_t own_keys = spec_.k_lengths.empty() ? spec_.keys : spec_.k_lengths[b];
            lengths.push_back(key_length(b));
            prefixes.push_back(std::min(own_keys, (b % 3) * 5 + spec_.shortest_prefix));
            // Row 0 starts so far to the left that its first queries see nothing when causal; others stand
            // inside of their keys.
            offsets.push_back(spec_.phase == Phase::train
                                  ? (b == 0 ? -2 : own_keys / 3)
                                  : std::max<std::int64_t>(0, lengths[b] - spec_.queries - moved * b));
        }
        if (spec_.masks.has(MaskKind::key_lengths)) mask.key_lengths = int32_tensor(lengths, device_);
        if (spec_.masks.has(MaskKind::prefix)) mask.prefix_lengths = int32_tensor(prefixes, device_);
        if (spec_.offsets) mask.query_offsets = int32_tensor(offsets, device_);
        if (spec_.masks.has(MaskKind::sliding_window)) {
            mask.window_left = spec_.window_left;
            mask.window_right = spec_.window_right;
        }
        if (spec_.masks.has(MaskKind::alibi)) {
            mask.alibi_slopes = at::full({spec_.heads}, 1.0, at::TensorOptions().dtype(at::kFloat));
            for (std::int64_t h = 0; h < spec_.heads; ++h)
                mask.alibi_slopes[h].fill_(std::ldexp(1.0, -static_cast<int>(h) - 2));
            mask.alibi_slopes = mask.alibi_slopes.to(device_);
        }
        if (spec_.masks.has(MaskKind::soft_cap)) mask.soft_cap = spec_.soft_cap;
        mask.relative_bidirectional = spec_.bidirectional;
        mask.relative_max_distance = spec_.max_distance;
        if (spec_.layout == Layout::packed) {
            mask.cu_seqlens_q = int32_tensor(running_sum(spec_.q_lengths), device_);
            mask.cu_seqlens_k = int32_tensor(running_sum(spec_.k_lengths), device_);
            mask.max_seqlen_q = *std::max_element(spec_.q_lengths.begin(), spec_.q_lengths.end());
            mask.max_seqlen_k = *std::max_element(spec_.k_lengths.begin(), spec_.k_lengths.end());
        }
    }

    // Keys past the lengths: finite values that would show at once, or NaN.
    void fill_key_padding(const at::Tensor& k, const at::Tensor& v) const {
        if (!spec_.masks.has(MaskKind::key_lengths)) return;
        const double odd = options_.nan_in_key_padding ? std::numeric_limits<double>::quiet_NaN() : 100.0;
        for (std::int64_t b = 0; b < spec_.batch; ++b) {
            const std::int64_t length = key_length(b);
            k[b].narrow(1, length, spec_.keys - length).fill_(odd);
            v[b].narrow(1, length, spec_.keys - length).fill_(-odd);
        }
    }

    // Pages in an order of their own, with places that hold no key, and pages of no sequence, full of the
    // surroundings.
    void fill_pages(PagedCache& cache) const {
        const std::int64_t page = spec_.page_size, most = (spec_.keys + page - 1) / page, B = spec_.batch;
        const at::TensorOptions options = at::TensorOptions().dtype(type_).device(device_);
        const auto pool = [&](std::int64_t width) {
            const std::int64_t heads = spec_.kv_heads, pages = B * most + 1;
            if (!spec_.heads_first) return at::full({pages, page, heads, width}, around_, options);
            return at::full({pages, heads, page, width}, around_, options).transpose(1, 2);
        };
        cache.k_pages = pool(spec_.head_dim);
        cache.v_pages = pool(spec_.v_head_dim);
        std::vector<std::int64_t> lengths, table;
        for (std::int64_t b = 0; b < B; ++b) {
            const std::int64_t length = std::max<std::int64_t>(key_length(b), spec_.queries);
            lengths.push_back(length);
            for (std::int64_t p = 0; p < most; ++p) {
                const bool used = p * page < length;
                // Row 0 has all keys, so that whole pages of the others are there, too.
                const bool shared = spec_.forked && (p + 1) * page <= length;
                const std::int64_t own = B * most - (p * B + (shared ? 0 : b));
                table.push_back(used ? own : 0x7FFFFFFF);
                const std::int64_t count = std::min(page, length - p * page);
                if (!used) continue;
                cache.k_pages[own]
                    .narrow(0, 0, count)
                    .copy_(bell({count, spec_.kv_heads, spec_.head_dim}, seed_ + 100 + own));
                cache.v_pages[own]
                    .narrow(0, 0, count)
                    .copy_(bell({count, spec_.kv_heads, spec_.v_head_dim}, seed_ + 5000 + own));
            }
        }
        cache.lengths = int32_tensor(lengths, device_);
        cache.block_table = int32_tensor(table, device_).view({B, most});
    }

    // Key j is one-hot at j % E; keys past the first E are zeros, so each output column is one probability.
    at::Tensor one_hot_values() const {
        at::Tensor v = at::zeros({spec_.batch, spec_.kv_heads, keys(), spec_.v_head_dim},
                                 at::TensorOptions().dtype(at::kDouble));
        for (std::int64_t j = 0; j < std::min(keys(), spec_.v_head_dim); ++j)
            v.select(2, j).select(2, j).fill_(1.0);
        return v;
    }

    const AttentionSpec& spec_;
    const VerifyOptions& options_;
    at::Device device_;
    at::ScalarType type_;
    double around_;
    Variation variation_;
    std::uint64_t seed_;
};

// For biases of any dtype, which get sums over data of the case's dtype.
//
// Also for kernels that take probabilities again as exp(score - lse) from an lse stored in float32 (Dao et
// al. 2022, arXiv:2205.14135, algorithm 4), which the reference does not: storing it is off by u |lse|, all
// probabilities of that row are then off by u |lse| of themselves, since exp(x + d) = exp(x) (1 + d) but for
// d^2, and so are that row's shares of dq, dk, dv (Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd ed., section 1.6: the condition of exp is |d|). An lse is at most its row's largest score, taken to be
// four standard deviations, and ln(keys). Half of it, because the judge's floor is 2 u.
double gradient_roundoff(const AttentionSpec& spec) {
    const auto type = to_scalar_type(spec.dtype);
    const double stored = unit_roundoff(type == at::kDouble ? at::kDouble : at::kFloat);
    const double scaled =
        spec.scale == 0.0 ? 1.0 : spec.scale * std::sqrt(static_cast<double>(spec.head_dim));
    const double largest_lse = 4.0 * scaled * spec.magnitude * spec.magnitude +
                               std::log(static_cast<double>(std::max<std::int64_t>(spec.keys, 1)));
    return std::max(unit_roundoff(type), stored * largest_lse / 2.0);
}

AttentionInputs as_inputs(const Tensors& t) { return {t[0], t[1], t[2], t[3], t[4]}; }

Tensors as_tensors(const AttentionOutputs& outputs, bool lse) {
    return {outputs.out, lse ? outputs.lse : at::Tensor()};
}

// Are the zeros of what stands for the mask where the generator has them, or (a library's generator) about as
// many as they should be?
void inspect_mask(const AttentionSpec& spec, const Facts& facts, const Dropout& dropout, const Outcome& found,
                  std::vector<Fault>& faults) {
    const at::Tensor kept = found.outputs[0].detach().ne(0.0).cpu();  // [B, H, N, E]: key j < E of query i
    const std::int64_t width = std::min(spec.keys, spec.v_head_dim);
    const at::Tensor shown = kept.narrow(-1, 0, width);
    if (facts.random == RandomSource::counter) {
        const at::Tensor mask = reference::attention_keep_mask(
            dropout, spec.first_document, spec.batch, {spec.first_head, spec.heads}, spec.queries, spec.keys);
        const at::Tensor expected = mask.narrow(-1, 0, width);
        if (!shown.equal(expected)) {
            faults.push_back({"wrong_mask", "",
                              std::to_string(shown.ne(expected).sum().item<std::int64_t>()) + " of " +
                                  std::to_string(shown.numel()) +
                                  " dropout decisions differ from the generator's"});
        }
    } else {
        const double p = 1.0 - shown.to(at::kDouble).mean().item<double>();
        const double deviation =
            std::sqrt(spec.dropout * (1.0 - spec.dropout) / static_cast<double>(shown.numel()));
        if (std::abs(p - spec.dropout) > 6.0 * deviation) {
            faults.push_back({"wrong_mask", "",
                              "dropped " + std::to_string(p) + " of the probabilities, asked for " +
                                  std::to_string(spec.dropout)});
        }
    }
    // Every probability is 1 / keys before dropout.
    const double value =
        found.outputs[0].detach().to(at::kDouble).max().item<double>() * static_cast<double>(spec.keys);
    if (std::abs(value * (1.0 - spec.dropout) - 1.0) > 0.02) {
        faults.push_back({"wrong_output", "",
                          "what dropout keeps is multiplied by " + std::to_string(value) + ", expected " +
                              std::to_string(1.0 / (1.0 - spec.dropout))});
    }
    if (found.gradients.empty() || !found.gradients[2].defined() || spec.kv_heads != spec.heads) return;
    // grad_v[j, e] is the probability that query e had for key j, after dropout.
    const std::int64_t rows = std::min(spec.queries, spec.v_head_dim);
    const at::Tensor backward =
        found.gradients[2].ne(0.0).cpu().narrow(2, 0, width).narrow(3, 0, rows).transpose(2, 3);
    if (!backward.equal(shown.narrow(2, 0, rows))) {
        faults.push_back({"wrong_mask", "", "backward drops other probabilities than forward did"});
    }
}

}  // namespace

std::string name_of(const AttentionSpec& spec) {
    std::ostringstream text;
    text << "attention/" << name(spec.layout) << "/" << masks_of(spec) << "/" << spec.family << "/"
         << short_name(spec.dtype) << "/B" << spec.batch << "H" << spec.heads << "K" << spec.kv_heads << "/N";
    if (spec.q_lengths.empty()) {
        text << spec.queries << "M" << spec.keys;
    } else {
        text << total(spec.q_lengths) << "M" << total(spec.k_lengths);
    }
    text << "/D" << spec.head_dim;
    if (spec.v_head_dim != spec.head_dim) text << "E" << spec.v_head_dim;
    if (spec.dropout > 0.0) text << "/p" << spec.dropout;
    if (spec.needs != "qkvb") text << "/grad_" << (spec.needs.empty() ? "none" : spec.needs);
    if (spec.lse) text << "/lse";
    if (spec.threaded) text << "/threads";
    if (spec.phase != Phase::train && spec.phase != Phase::eval) text << "/" << name(spec.phase);
    text << spec.detail;
    return text.str();
}

OperationCase attention_case(AttentionSpec spec, const Facts& facts, const VerifyOptions& options) {
    if (!spec.q_lengths.empty()) spec.batch = static_cast<std::int64_t>(spec.q_lengths.size());
    if (!has_gradient(facts) && spec.phase == Phase::train && !spec.needs.empty()) {
        spec.needs = "";
        spec.phase = Phase::eval;
    }
    OperationCase one{name_of(spec), request_of(spec, options), {}, spec.threaded ? 2 : 1};
    one.make = [spec, &facts, &options](const Variation& variation) {
        Builder builder(spec, options, variation);
        const auto data = builder.data();
        const AttentionMask& mask = data->params.mask;
        Operation operation;
        operation.input_names = {"q", "k", "v", "relative_bias", "dense_bias"};
        operation.output_names = {"out", "lse"};
        operation.inputs = builder.inputs();
        const auto needs = [&](char letter) { return spec.needs.find(letter) != std::string::npos; };
        operation.needs = {needs('q'), needs('k'), needs('v'), needs('b'), needs('b')};
        operation.others = {mask.key_lengths,    mask.query_offsets,  mask.prefix_lengths,
                            mask.alibi_slopes,   mask.cu_seqlens_q,   mask.cu_seqlens_k,
                            data->pages.k_pages, data->pages.v_pages, data->pages.block_table,
                            data->pages.lengths};
        operation.grad_outputs = {builder.grad_out(), at::Tensor()};
        operation.gradient_roundoff = gradient_roundoff(spec);
        operation.reference = [data, lse = spec.lse](const Tensors& inputs) {
            AttentionParams params = data->params;
            PagedCache pages = data->pages;
            if (params.pages != nullptr) {
                pages.k_pages = pages.k_pages.to(inputs[0].scalar_type());
                pages.v_pages = pages.v_pages.to(inputs[0].scalar_type());
                params.pages = &pages;
            }
            return as_tensors(reference::attention(as_inputs(inputs), params), lse);
        };
        operation.forward = [data, lse = spec.lse](void* component, const Tensors& inputs, Saved* saved) {
            return as_tensors(
                static_cast<Attention*>(component)->forward(as_inputs(inputs), data->params, saved), lse);
        };
        operation.backward = [data](void* component, const Saved& saved, const Tensors& grads,
                                    const std::vector<bool>& needs) {
            const AttentionNeeds which{needs[0], needs[1], needs[2],
                                       needs[3] && data->params.mask.kinds.has(MaskKind::relative_bias),
                                       needs[4] && data->params.mask.kinds.has(MaskKind::dense_bias)};
            const AttentionGrads g =
                static_cast<Attention*>(component)->backward(data->params, saved, grads[0], which);
            return Tensors{g.q, g.k, g.v, g.relative_bias, g.dense_bias};
        };
        operation.judged = !spec.one_hot && (spec.dropout == 0.0 || facts.random == RandomSource::counter);
        if (spec.one_hot) {
            operation.inspect = [spec, &facts, data](const Outcome& found, std::vector<Fault>& faults) {
                inspect_mask(spec, facts, data->params.dropout, found, faults);
            };
        }
        return operation;
    };
    return one;
}

OperationCase attention_in_turn(const AttentionSpecs& specs, const Facts& facts,
                                const VerifyOptions& options) {
    std::vector<OperationCase> cases;
    for (const AttentionSpec& spec : specs) cases.push_back(attention_case(spec, facts, options));
    return in_turn<AttentionRequest>(std::move(cases),
                                     [](AttentionRequest& all, const AttentionRequest& one) {
                                         all.batch = joined(all.batch, one.batch);
                                         all.q_length = joined(all.q_length, one.q_length);
                                         all.kv_length = joined(all.kv_length, one.kv_length);
                                         all.query_offsets |= one.query_offsets;
                                         all.custom_scale |= one.custom_scale;
                                         all.want_lse |= one.want_lse;
                                     });
}

}  // namespace switchyard::conformance
