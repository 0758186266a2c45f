#include "core/kernel/runtime/stable/stable_query.h"

#include <stdexcept>

#include <switchyard/interfaces/types.h>

namespace switchyard::runtime::stable {
namespace {

// The numbers of the C header are those of the contracts, of which none changes: the last of each list tells.
static_assert(SWITCHYARD_BOOLEAN == static_cast<int>(DType::boolean));
static_assert(SWITCHYARD_CUDA == static_cast<int>(Device::cuda));
static_assert(SWITCHYARD_DECODE == static_cast<int>(Phase::decode));
static_assert(SWITCHYARD_PACKED == static_cast<int>(Layout::packed));
static_assert(SWITCHYARD_RMS_NORM == static_cast<int>(NormKind::rms_norm));
static_assert(SWITCHYARD_CUSTOM == static_cast<int>(OptimizerKind::custom));
static_assert(SWITCHYARD_DENSE_BIAS == static_cast<int>(MaskKind::dense_bias));
static_assert(SWITCHYARD_CODE_INTERNAL == static_cast<int>(Code::Internal));

template <class Enum>
std::int32_t number(Enum value) {
    return static_cast<std::int32_t>(value);
}

SwitchyardStableRange range_of(const Range& range) { return {range.min, range.max}; }

SwitchyardStableNormalizationRequest in_c(const NormalizationRequest& r, std::string&) {
    return {.struct_size = sizeof(SwitchyardStableNormalizationRequest),
            .norm = number(r.norm),
            .rows = range_of(r.rows),
            .width = range_of(r.width),
            .parameter_dtype = number(r.parameter_dtype),
            .affine_bias = r.affine_bias,
            .input_bias = r.input_bias,
            .residual = r.residual,
            .dropout = r.dropout};
}

SwitchyardStableLinearRequest in_c(const LinearRequest& r, std::string&) {
    return {.struct_size = sizeof(SwitchyardStableLinearRequest),
            .weight_dtype = number(r.weight_dtype),
            .output_dtype = number(r.output_dtype),
            .bias = r.bias,
            .tf32 = r.tf32,
            .rows = range_of(r.rows),
            .in = r.in,
            .out = r.out};
}

SwitchyardStableAttentionRequest in_c(const AttentionRequest& r, std::string&) {
    return {.struct_size = sizeof(SwitchyardStableAttentionRequest),
            .masks = r.masks.bits,
            .batch = range_of(r.batch),
            .heads = range_of(r.heads),
            .kv_heads = range_of(r.kv_heads),
            .q_length = range_of(r.q_length),
            .kv_length = range_of(r.kv_length),
            .head_dim = range_of(r.head_dim),
            .v_head_dim = range_of(r.v_head_dim),
            .bias_gradient = r.bias_gradient,
            .query_offsets = r.query_offsets,
            .custom_scale = r.custom_scale,
            .want_lse = r.want_lse,
            .dropout = r.dropout};
}

SwitchyardStableOptimizerRequest in_c(const OptimizerRequest& r, std::string& algorithm) {
    algorithm = formula_name(r);
    return {.struct_size = sizeof(SwitchyardStableOptimizerRequest),
            .algorithm = number(r.algorithm),
            .algorithm_name = algorithm.c_str(),
            .gradient_dtype = number(r.gradient_dtype),
            .master_weights = r.master_weights,
            .clip = r.clip,
            .unscale = r.unscale,
            .parameters = r.parameters,
            .tensors = r.tensors};
}

SwitchyardStableHost host_in_c(const HostInfo& host, std::vector<const char*>& features) {
    for (const std::string& feature : host.cpu_features) features.push_back(feature.c_str());
    std::int32_t devices = 0;
    for (const DeviceInfo& device : host.devices) devices += device.device == Device::cuda ? 1 : 0;
    const DeviceInfo* const first = host.first(Device::cuda);
    return {.struct_size = sizeof(SwitchyardStableHost),
            .described = host.described,
            .cores = host.cores,
            .cpu_model = host.cpu_model.c_str(),
            .cpu_features = features.data(),
            .cpu_feature_count = static_cast<std::int64_t>(features.size()),
            .l2_bytes = host.l2_bytes,
            .l3_bytes = host.l3_bytes,
            .memory_bytes = host.memory_bytes,
            .libtorch_version = host.libtorch_version.c_str(),
            .cuda_devices = devices,
            .compute_capability = first == nullptr ? 0 : first->compute_capability};
}

}  // namespace

StableQuery::StableQuery(Kind kind, const Request& request, const HostInfo* host, const Options& options,
                         const char* variant)
    : options_(reinterpret_cast<const SwitchyardStableOptions*>(&options)),
      variant_(variant == nullptr ? "" : variant) {
    common_ = {.struct_size = sizeof(SwitchyardStableRequest),
               .dtype = number(request.dtype),
               .device = number(request.device),
               .layout = number(request.layout),
               .phase = number(request.phase),
               .needs_grad = request.needs_grad,
               .deterministic = request.deterministic,
               .allow_reduced = request.allow_reduced};
    visit(kind, [&]<class Traits>(Traits) {
        if constexpr (requires { in_c(Traits::request(request), algorithm_); })
            request_ = in_c(Traits::request(request), algorithm_);
        else
            throw std::invalid_argument("the stable tier has no " + std::string(name(Traits::kind)));
    });
    static const HostInfo no_host;
    host_ = host_in_c(host == nullptr ? no_host : *host, features_);
}

const void* StableQuery::request() const {
    return std::visit([](const auto& held) -> const void* { return &held; }, request_);
}

SwitchyardStableSupports StableQuery::supports(Verdict& verdict) const {
    return {.struct_size = sizeof(SwitchyardStableSupports),
            .common = &common_,
            .request = request(),
            .host = &host_,
            .options = options_,
            .variant = variant_,
            .verdict = reinterpret_cast<SwitchyardStableVerdict*>(&verdict)};
}

SwitchyardStableCreate StableQuery::create(void* token) const {
    return {.struct_size = sizeof(SwitchyardStableCreate),
            .common = &common_,
            .request = request(),
            .host = &host_,
            .options = options_,
            .variant = variant_,
            .token = token,
            .component = nullptr};
}

void reject_unstable(Kind kind, const Request& request, Verdict& verdict) {
    constexpr std::string_view hint = "a component of the stable tier is never asked for it";
    if (kind == Kind::linear) {
        const auto format = KindTraits<Kind::linear>::request(request).weight_format;
        if (format != WeightFormat::dense)
            verdict.reject(Code::DType, "weight_format", "dense", name(format), hint);
    } else if (kind == Kind::attention) {
        if (KindTraits<Kind::attention>::request(request).paged_cache)
            verdict.reject(Code::Layout, "paged_cache", "false", "true", hint);
    }
}

}  // namespace switchyard::runtime::stable
