// Which requests beside the standard ones a component is asked for. To add one: a line in its kind's
// function.
#include <string>
#include <string_view>
#include <utility>

#include "core/kernel/probe/requests.h"

namespace switchyard::loader {

namespace {

// Changes copies of one request.
template <class R>
class Varied {
public:
    explicit Varied(const R& base) : base_(base) {}

    template <class Change>
    void add(std::string_view field, std::string_view value, const Change& change) {
        R request = base_;
        change(request);
        list_.push_back({std::string(field), std::string(value), std::make_shared<const R>(request)});
    }
    // A part of the operation that the standard request does without.
    template <class Change>
    void also(std::string_view value, const Change& change) {
        add("also", value, change);
    }
    std::vector<Variation> take() { return std::move(list_); }

private:
    const R& base_;
    std::vector<Variation> list_;
};

void train(Request& request) {
    request.phase = Phase::train;
    request.needs_grad = true;
}

void lay_out(AttentionRequest& request, Layout layout) {
    request.layout = layout;
    request.masks = {};
    if (layout == Layout::packed) request.masks.insert(MaskKind::documents);
}

// Some masks are of one layout by what they are.
void put_on(AttentionRequest& request, MaskKind mask) {
    if (mask == MaskKind::documents) lay_out(request, Layout::packed);
    if (mask == MaskKind::key_lengths || mask == MaskKind::dense_bias) lay_out(request, Layout::padded);
    request.masks.insert(mask);
}

std::vector<Variation> around(const AttentionRequest& served) {
    Varied<AttentionRequest> varied(served);
    for (const Layout layout : {Layout::padded, Layout::packed})
        varied.add("layout", name(layout), [&](auto& r) { lay_out(r, layout); });
    for (std::size_t i = 0; i < names<MaskKind>.size(); ++i) {
        const auto mask = static_cast<MaskKind>(i);
        varied.add("masks", name(mask), [&](auto& r) { put_on(r, mask); });
    }
    varied.also("dropout", [](auto& r) { r.dropout = 0.1; });
    varied.also("needs_grad", [](auto& r) { train(r); });
    varied.also("grouped heads", [](auto& r) { r.kv_heads = r.heads.min / 4; });
    varied.also("paged_cache", [](auto& r) {
        lay_out(r, Layout::padded);
        r.phase = Phase::decode;
        r.q_length = 1;
        r.paged_cache = true;
    });
    varied.also("query_offsets", [](auto& r) {
        lay_out(r, Layout::padded);
        r.masks.insert(MaskKind::causal);
        r.query_offsets = true;
    });
    varied.also("custom_scale", [](auto& r) { r.custom_scale = true; });
    varied.also("want_lse", [](auto& r) { r.want_lse = true; });
    return varied.take();
}

std::vector<Variation> around(const NormalizationRequest& served) {
    Varied<NormalizationRequest> varied(served);
    varied.also("input_bias", [](auto& r) { r.input_bias = true; });
    varied.also("residual", [](auto& r) { r.residual = true; });
    varied.also("dropout", [](auto& r) { r.dropout = 0.1; });
    varied.also("needs_grad", [](auto& r) { train(r); });
    return varied.take();
}

std::vector<Variation> around(const ActivationRequest& served) {
    Varied<ActivationRequest> varied(served);
    varied.also("input_bias", [](auto& r) { r.input_bias = true; });
    varied.also("dropout", [](auto& r) { r.dropout = 0.1; });
    varied.also("needs_grad", [](auto& r) { train(r); });
    return varied.take();
}

std::vector<Variation> around(const LossRequest& served) {
    Varied<LossRequest> varied(served);
    varied.also("projection", [](auto& r) {
        r.projection = true;
        r.width = 768;
    });
    varied.also("label_smoothing", [](auto& r) { r.label_smoothing = 0.1; });
    varied.also("z_loss", [](auto& r) { r.z_loss = 1e-4; });
    varied.also("per_row", [](auto& r) { r.per_row = true; });
    varied.also("needs_grad", [](auto& r) { train(r); });
    return varied.take();
}

std::vector<Variation> around(const OptimizerRequest& served) {
    Varied<OptimizerRequest> varied(served);
    varied.also("master_weights", [](auto& r) { r.master_weights = true; });
    varied.also("clip", [](auto& r) { r.clip = true; });
    varied.also("unscale", [](auto& r) { r.unscale = true; });
    return varied.take();
}

// In the dtype of the standard request, which in every form is that of the result.
void store_dense(LinearRequest& request) {
    request.dtype = request.weight_dtype = request.output_dtype;
    request.weight_format = WeightFormat::dense;
    request.weight_bits = 0;
    request.input_quantization = InputQuantization::none;
}

// As the policy fp8 has them.
void store_scaled(LinearRequest& request) {
    store_dense(request);
    request.dtype = request.weight_dtype = DType::float8_e4m3fn;
    request.weight_format = WeightFormat::scaled;
}

void store_quantized(LinearRequest& request, std::int64_t bits, InputQuantization input) {
    store_dense(request);
    request.weight_format = WeightFormat::quantized;
    request.weight_bits = bits;
    request.input_quantization = input;
}

constexpr InputQuantization all_inputs[] = {InputQuantization::none, InputQuantization::dynamic,
                                            InputQuantization::fixed};

std::vector<Variation> around(const LinearRequest& served) {
    Varied<LinearRequest> varied(served);
    varied.add("weight_format", "dense", [](auto& r) { store_dense(r); });
    varied.add("weight_format", "scaled", [](auto& r) { store_scaled(r); });
    for (const std::int64_t bits : {8, 4}) {
        for (const InputQuantization input : all_inputs) {
            auto how = std::to_string(bits).append(" bits");
            if (input != InputQuantization::none) how.append(1, ' ').append(name(input));
            varied.add("weight_format", how, [&](auto& r) { store_quantized(r, bits, input); });
        }
    }
    varied.also("bias", [](auto& r) { r.bias = true; });
    varied.also("needs_grad", [](auto& r) { train(r); });
    return varied.take();
}

std::vector<Variation> around(const PrecisionRequest& served) {
    Varied<PrecisionRequest> varied(served);
    varied.also("loss_scaling", [](auto& r) { r.loss_scaling = true; });
    return varied.take();
}

std::vector<Variation> around(const DataLoaderRequest& served) {
    Varied<DataLoaderRequest> varied(served);
    for (const Layout layout : {Layout::padded, Layout::packed})
        varied.add("layout", name(layout), [&](auto& r) { r.layout = layout; });
    varied.also("token_budget", [](auto& r) { r.token_budget = 1024; });
    return varied.take();
}

template <class R, class Change>
void add_form(std::vector<StandardRequest>& forms, const StandardRequest& standard, const Change& change) {
    auto request = std::make_shared<R>(static_cast<const R&>(*standard.request));
    change(*request);
    forms.push_back({standard.formula, request});
}

}  // namespace

std::vector<Variation> variations(Kind kind, const Request& served) {
    return visit(kind, [&](auto traits) { return around(traits.request(served)); });
}

std::vector<StandardRequest> other_forms(Kind kind, Device device, DType dtype) {
    std::vector<StandardRequest> forms;
    for (const StandardRequest& standard : standard_requests(kind, device, dtype, {})) {
        if (kind == Kind::attention)
            add_form<AttentionRequest>(forms, standard, [](auto& r) { lay_out(r, Layout::packed); });
        if (kind == Kind::data_loader)
            add_form<DataLoaderRequest>(forms, standard, [](auto& r) { r.layout = Layout::packed; });
        if (kind != Kind::linear) continue;
        add_form<LinearRequest>(forms, standard, [](auto& r) { store_scaled(r); });
        for (const std::int64_t bits : {8, 4}) {
            for (const InputQuantization input : all_inputs)
                add_form<LinearRequest>(forms, standard, [&](auto& r) { store_quantized(r, bits, input); });
        }
    }
    return forms;
}

}  // namespace switchyard::loader
