#include "core/kernel/probe/requests.h"

#include <utility>

namespace switchyard::host {

namespace {

struct Sizes {
    std::int64_t batch, heads, length, head_dim, classes;
    std::int64_t rows() const { return batch * length; }
    std::int64_t width() const { return heads * head_dim; }
};
constexpr Sizes usual{8, 12, 128, 64, 30522};
constexpr Sizes tiny{1, 2, 4, 8, 4};

template <class R>
StandardRequest with(const std::string& formula, Device device, DType dtype, R request) {
    request.device = device;
    request.dtype = dtype;
    request.phase = Phase::eval;
    request.allow_reduced = true;
    return {formula, std::make_shared<const R>(std::move(request))};
}

StandardRequest attention(Device device, DType dtype, const Sizes& sizes) {
    AttentionRequest request;
    request.batch = sizes.batch;
    request.heads = request.kv_heads = sizes.heads;
    request.q_length = request.kv_length = sizes.length;
    request.head_dim = request.v_head_dim = sizes.head_dim;
    return with("", device, dtype, request);
}

StandardRequest normalization(NormKind norm, Device device, DType dtype, const Sizes& sizes) {
    NormalizationRequest request;
    request.norm = norm;
    request.rows = sizes.rows();
    request.width = sizes.width();
    request.parameter_dtype = dtype;
    request.affine_bias = norm == NormKind::layer_norm;
    return with(std::string(name(norm)), device, dtype, request);
}

StandardRequest activation(ActivationKind kind, Device device, DType dtype, const Sizes& sizes) {
    ActivationRequest request;
    request.activation = kind;
    request.rows = sizes.rows();
    request.width = sizes.width();
    return with(std::string(name(kind)), device, dtype, request);
}

StandardRequest loss(Device device, DType dtype, const Sizes& sizes) {
    LossRequest request;
    request.rows = sizes.rows();
    request.classes = sizes.classes;
    return with("", device, dtype, request);
}

StandardRequest optimizer(OptimizerKind algorithm, Device device, DType dtype, const Sizes& sizes) {
    OptimizerRequest request;
    request.algorithm = algorithm;
    request.gradient_dtype = dtype;
    request.parameters = sizes.width();
    request.tensors = 1;
    StandardRequest result = with(std::string(name(algorithm)), device, dtype, request);
    return result;
}

StandardRequest data_loader(Device device, DType dtype, const Sizes& sizes) {
    DataLoaderRequest request;
    request.batch = sizes.batch;
    request.length = Range(1, sizes.length);
    return with("", device, dtype, request);
}

std::vector<StandardRequest> requests(Kind kind, Device device, DType dtype, const Sizes& sizes) {
    std::vector<StandardRequest> all;
    const auto each = [&]<class Enum>(Enum, auto make) {
        for (std::size_t i = 0; i < names<Enum>.size(); ++i)
            all.push_back(make(static_cast<Enum>(i), device, dtype, sizes));
    };
    switch (kind) {
        case Kind::attention:
            return {attention(device, dtype, sizes)};
        case Kind::normalization:
            each(NormKind{}, normalization);
            break;
        case Kind::activation:
            each(ActivationKind{}, activation);
            break;
        case Kind::loss:
            return {loss(device, dtype, sizes)};
        case Kind::optimizer:
            each(OptimizerKind{}, optimizer);
            break;
        case Kind::precision:
            return {with("", device, dtype, PrecisionRequest{})};
        case Kind::data_loader:
            return {data_loader(device, dtype, sizes)};
    }
    return all;
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

std::vector<StandardRequest> standard_requests(Kind kind, Device device, DType dtype) {
    return requests(kind, device, dtype, usual);
}

std::vector<StandardRequest> tiny_requests(Kind kind, DType dtype) {
    return requests(kind, Device::cpu, dtype, tiny);
}

}  // namespace switchyard::host
