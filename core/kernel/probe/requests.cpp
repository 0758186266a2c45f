#include "core/kernel/probe/requests.h"

#include <string_view>
#include <type_traits>

namespace switchyard::loader {

namespace {

using Names = std::vector<std::string>;

struct Sizes {
    std::int64_t batch, heads, length, head_dim, classes;
    std::int64_t rows() const { return batch * length; }
    std::int64_t width() const { return heads * head_dim; }
};
constexpr Sizes usual{8, 12, 128, 64, 30522};
constexpr Sizes tiny{1, 2, 4, 8, 4};

void fill(AttentionRequest& request, const Sizes& sizes) {
    request.batch = sizes.batch;
    request.heads = request.kv_heads = sizes.heads;
    request.q_length = request.kv_length = sizes.length;
    request.head_dim = request.v_head_dim = sizes.head_dim;
}

void fill(NormalizationRequest& request, const Sizes& sizes) {
    request.rows = sizes.rows();
    request.width = sizes.width();
    request.parameter_dtype = request.dtype;
    request.affine_bias = request.norm == NormKind::layer_norm;
}

void fill(ActivationRequest& request, const Sizes& sizes) {
    request.rows = sizes.rows();
    request.width = sizes.width();
}

void fill(LossRequest& request, const Sizes& sizes) {
    request.rows = sizes.rows();
    request.classes = sizes.classes;
}

void fill(OptimizerRequest& request, const Sizes& sizes) {
    request.gradient_dtype = request.dtype;
    request.parameters = sizes.width();
    request.tensors = 1;
}

void fill(PrecisionRequest&, const Sizes&) {}

void fill(LinearRequest& request, const Sizes& sizes) {
    request.rows = sizes.rows();
    request.in = request.out = sizes.width();
    request.weight_dtype = request.output_dtype = request.dtype;
}

void fill(DataLoaderRequest& request, const Sizes& sizes) {
    request.batch = sizes.batch;
    request.length = Range(1, sizes.length);
}

// A loss of one's own is for targets of one form or of both.
template <class R, class Add>
void add_custom(R& request, const Add& add) {
    add();
    if constexpr (requires { request.value_targets; }) {
        request.value_targets = true;
        add();
        request.value_targets = false;
    }
}

template <class R>
std::vector<StandardRequest> requests(R request, const Sizes& sizes, const Names& custom) {
    request.phase = Phase::eval;
    request.allow_reduced = true;
    std::vector<StandardRequest> all;
    const auto add = [&](std::string_view of) {
        fill(request, sizes);
        all.push_back({std::string(of), std::make_shared<const R>(request)});
    };
    if constexpr (requires { formula_of(request); }) {
        using Formula = std::remove_reference_t<decltype(formula_of(request))>;
        for (std::size_t i = 0; i < known_formulas<Formula>; ++i) {
            formula_of(request) = static_cast<Formula>(i);
            add(names<Formula>[i]);
        }
        if constexpr (requires { request.custom; }) {
            for (const std::string& name : custom) {
                formula_of(request) = Formula::custom;
                request.custom = name;
                add_custom(request, [&] { add(formula_name(request)); });
            }
        }
    } else {
        add("");
    }
    return all;
}

std::vector<StandardRequest> requests(Kind kind, Device device, DType dtype, const Sizes& sizes,
                                      const Names& custom) {
    return visit(kind, [&]<class Traits>(Traits) {
        typename Traits::Request request;
        request.device = device;
        request.dtype = dtype;
        return requests(request, sizes, custom);
    });
}

}  // namespace

std::vector<Device> probed_devices(Kind kind) {
    if (kind == Kind::data_loader) return {Device::cpu};
    return {Device::cpu, Device::cuda};
}

std::vector<DType> probed_dtypes(Kind kind) {
    if (kind == Kind::data_loader) return {DType::int64};
    return {DType::float32, DType::bfloat16, DType::float16, DType::float64};
}

std::vector<StandardRequest> standard_requests(Kind kind, Device device, DType dtype, const Names& custom) {
    return requests(kind, device, dtype, usual, custom);
}

std::vector<StandardRequest> tiny_requests(Kind kind, DType dtype, const Names& custom) {
    return requests(kind, Device::cpu, dtype, tiny, custom);
}

}  // namespace switchyard::loader
