// What the plugins refuse, and in which words. To add a case: the request with one thing changed, and the
// whole text.
#include "builtin.h"

#include <switchyard/interfaces/request.h>

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::component;
using switchyard::test::h100;
using switchyard::test::laptop;
using switchyard::test::refusals;

namespace {

// As the policy fp8 asks.
LinearRequest scaled_request() {
    LinearRequest request;
    request.dtype = request.weight_dtype = DType::float8_e4m3fn;
    request.output_dtype = DType::bfloat16;
    request.weight_format = WeightFormat::scaled;
    return request;
}

// Of a weight that is stored in 8 bits with the scale of its input.
LinearRequest stored_request() {
    LinearRequest request;
    request.phase = Phase::eval;
    request.weight_format = WeightFormat::quantized;
    request.weight_bits = 8;
    request.input_quantization = InputQuantization::fixed;
    return request;
}

LinearRequest linear_request(const std::string& component) {
    if (component == "scaled") return scaled_request();
    if (component == "static") return stored_request();
    return {};
}

}  // namespace

TEST_CASE("every component serves a plain request on the CPU") {
    for (const auto& loaded : test::all_components()) {
        if (test::needs_a_device(loaded)) continue;
        INFO(loaded.plugin << " " << name(loaded.manifest->kind) << " " << loaded.manifest->id);
        const AttentionRequest attention;
        NormalizationRequest normalization;
        normalization.width = 64;
        const ActivationRequest activation;
        const LossRequest loss;
        const OptimizerRequest optimizer;
        PrecisionRequest precision;
        if (loaded.manifest->id == "bf16_pure") precision.dtype = DType::bfloat16;
        if (loaded.manifest->id == "fp16_pure") {
            precision.dtype = DType::float16;
            precision.phase = Phase::eval;
        }
        DataLoaderRequest data_loader;
        if (loaded.manifest->id == "packed") data_loader.layout = Layout::packed;
        const auto linear = linear_request(loaded.manifest->id);
        const Request* requests[] = {&attention, &normalization, &activation,  &loss,
                                     &optimizer, &precision,     &data_loader, &linear};
        CHECK(refusals(loaded, *requests[static_cast<int>(loaded.manifest->kind)]) == "");
    }
}

TEST_CASE("a device that the host lacks is a reason, and none on a host that has it") {
    AttentionRequest request;
    request.device = Device::cuda;
    const std::string lacking = "device: expected cpu, or cuda on a host that has such a device, got cuda";
    for (const std::string plugin : {"naive", "torch"}) {
        CHECK(refusals(component(Kind::attention, plugin, plugin), request, laptop()) == lacking);
        CHECK(refusals(component(Kind::attention, plugin, plugin), request, h100()) == "");
    }
}

TEST_CASE("precision policies say which parameters, range and device they need") {
    PrecisionRequest request;
    const auto of = [&](const char* id) { return refusals(component(Kind::precision, "amp", id), request); };
    CHECK(of("tf32") == "device: expected cuda (TensorFloat-32 is a mode of its tensor cores), got cpu");
    CHECK(of("bf16_pure") == "dtype: expected bfloat16 (parameters as the model stores them), got float32");
    request.loss_scaling = true;
    CHECK(of("fp16") == "");
    CHECK(of("bf16") == "loss_scaling: expected false (its range needs no loss scale), got true");
    request.loss_scaling = false;
    request.device = Device::cuda;
    for (const char* id : {"fp32", "tf32", "bf16", "bf16_products", "fp16"})
        CHECK(refusals(component(Kind::precision, "amp", id), request, h100()) == "");
}

TEST_CASE("linear layers are dense, in one dtype, and on the CPU where tiles are") {
    const auto of = [](const char* plugin, const LinearRequest& request, const HostInfo& host = laptop()) {
        return refusals(component(Kind::linear, plugin, plugin), request, host);
    };
    const std::string scaled =
        "weight_format: expected dense (operands without scales), got scaled\n"
        "output_dtype: expected the dtype of x, float8_e4m3fn, got bfloat16";
    CHECK(of("gemm", scaled_request()) ==
          "dtype: expected float32, bfloat16 or float16, got float8_e4m3fn\n" + scaled);
    CHECK(of("torch", scaled_request()) ==
          "dtype: expected float32, float64, bfloat16 or float16, got float8_e4m3fn\n" + scaled);
    CHECK(of("naive", scaled_request()) == "");
    LinearRequest request;
    request.output_dtype = DType::bfloat16;
    for (const char* plugin : {"gemm", "torch", "naive"})
        CHECK(of(plugin, request) == "output_dtype: expected the dtype of x, float32, got bfloat16");
    request.dtype = request.weight_dtype = request.output_dtype = DType::float64;
    CHECK(of("gemm", request) == "dtype: expected float32, bfloat16 or float16, got float64");
    for (const char* plugin : {"torch", "naive"}) CHECK(of(plugin, request) == "");
    request.dtype = request.weight_dtype = request.output_dtype = DType::float32;
    request.device = Device::cuda;
    CHECK(of("gemm", request, h100()) == "device: expected cpu, got cuda");
    for (const char* plugin : {"torch", "naive"}) CHECK(of(plugin, request, h100()) == "");
    auto on_device = scaled_request();
    on_device.device = Device::cuda;
    CHECK(of("naive", on_device, h100()) == "device: expected cpu with scaled operands, got cuda");
    CHECK(refusals(component(Kind::linear, "gemm", "gemm"), LinearRequest(), laptop(), "tiles") ==
          "variant: expected none: how a product is made is decided by its sizes, got tiles");
}

TEST_CASE("fused and 8-bit kernels serve a device, on a host that has one") {
    NormalizationRequest normalization;
    ActivationRequest activation;
    LossRequest loss;
    OptimizerRequest optimizer;
    const std::string lacking = "device: expected cpu, or cuda on a host that has such a device, got cuda";
    const auto check = [&](const std::string& plugin, Kind kind, Request& request) {
        request.device = Device::cuda;
        INFO(plugin << " " << name(kind));
        const auto loaded = component(kind, plugin, plugin);
        CHECK(refusals(loaded, request, h100()) == "");
        const std::string on_laptop = refusals(loaded, request, laptop());
        CHECK(on_laptop.substr(0, lacking.size()) == lacking);
    };
    check("fused", Kind::normalization, normalization);
    check("fused", Kind::activation, activation);
    check("fused", Kind::loss, loss);
    check("fused", Kind::optimizer, optimizer);
    check("optim8bit", Kind::optimizer, optimizer);
    CHECK(refusals(component(Kind::normalization, "fused", "low_precision"), normalization, h100()) ==
          "device: expected cpu, got cuda");
}

TEST_CASE("low precision takes no LayerNorm over rows that may spread by less than one pass shows") {
    const auto loaded = component(Kind::normalization, "fused", "low_precision");
    NormalizationRequest request;
    request.width = {15, 4096};
    const std::string reason =
        "width: expected 16 or more (a few values may differ by less than their variance in one pass shows), "
        "got 15..4096";
    CHECK(refusals(loaded, request) == reason);
    request.norm = NormKind::rms_norm;
    CHECK(refusals(loaded, request).empty());
    request.norm = NormKind::layer_norm;
    request.width = 16;
    CHECK(refusals(loaded, request).empty());
}

TEST_CASE("all reasons come at once") {
    AttentionRequest request;
    request.dtype = DType::float8_e4m3fn;
    request.masks = {MaskKind::soft_cap, MaskKind::causal};
    request.paged_cache = true;
    CHECK(refusals(component(Kind::attention, "torch", "torch"), request) ==
          "dtype: expected float32, float64, bfloat16 or float16, got float8_e4m3fn\n"
          "masks: expected any but soft_cap (SDPA has none), got soft_cap\n"
          "paged_cache: expected false (SDPA reads contiguous keys and values), got true");
}

TEST_CASE("a mask of a later host is refused, and told by its number beside the names of the others") {
    AttentionRequest request;
    request.masks = {MaskKind::causal, MaskKind::alibi};
    request.masks.bits |= 1U << 9;
    for (const std::string plugin : {"naive", "torch", "chunked", "flash"})
        CHECK(refusals(component(Kind::attention, plugin, plugin), request) ==
              "masks: expected masks known to this plugin, got causal, alibi, #9");
}

TEST_CASE("torch attention: a dense bias is for the padded layout") {
    AttentionRequest request;
    request.layout = Layout::packed;
    request.masks = {MaskKind::documents, MaskKind::dense_bias};
    const std::string text = "layout: expected padded with a dense bias, got packed";
    CHECK(refusals(component(Kind::attention, "torch", "torch"), request) == text);
    CHECK(refusals(component(Kind::attention, "naive", "naive"), request) == text);
}

TEST_CASE("torch attention: deterministic gradients are refused on cuda alone") {
    AttentionRequest request;
    request.deterministic = true;
    request.needs_grad = true;
    CHECK(refusals(component(Kind::attention, "torch", "torch"), request, h100()) == "");
    request.device = Device::cuda;
    CHECK(refusals(component(Kind::attention, "torch", "torch"), request, h100()) ==
          "deterministic: expected false on cuda with gradients (backward kernels add atomically), got true");
}

TEST_CASE("torch attention: the flash kernel of the CPU can be asked for where it serves the request") {
    const auto loaded = component(Kind::attention, "torch", "torch");
    AttentionRequest request;
    CHECK(refusals(loaded, request, laptop(), "flash") == "");
    CHECK(refusals(loaded, request, laptop(), "math") == "");
    CHECK(refusals(loaded, request, laptop(), "cudnn") ==
          "variant: expected none, math, or flash on cpu: LibTorch picks the others by itself, got cudnn");
    request.dropout = 0.1;
    request.v_head_dim = 32;
    request.bias_gradient = true;
    request.kv_length = {0, 8};
    CHECK(refusals(loaded, request, laptop(), "flash") ==
          "dropout: expected 0 (LibTorch's flash kernel of the CPU has none), got 0.1\n"
          "v_head_dim: expected head_dim for the flash kernel, got 32\n"
          "bias_gradient: expected false (the flash kernel has none for its mask), got true\n"
          "q_length, kv_length: expected 1 or more for the flash kernel, got 0");
    CHECK(refusals(loaded, request, laptop(), "math") == "");
    AttentionRequest on_device;
    on_device.device = Device::cuda;
    CHECK(refusals(loaded, on_device, h100(), "flash") ==
          "variant: expected no variant on cuda but math: LibTorch picks the kernel, got flash");
}

TEST_CASE(
    "torch normalization: parameters are of the dtype of x or float32, and rows of one value have no "
    "gradients") {
    const auto loaded = component(Kind::normalization, "torch", "torch");
    NormalizationRequest request;
    request.parameter_dtype = DType::bfloat16;
    CHECK(refusals(loaded, request) == "parameter_dtype: expected the dtype of x, or float32, got bfloat16");
    request.dtype = DType::bfloat16;
    request.parameter_dtype = DType::float32;
    request.device = Device::cuda;
    CHECK(refusals(loaded, request, h100()) == "");
    request.width = Range(1);
    request.needs_grad = false;
    CHECK(refusals(loaded, request, h100()) == "");
    request.needs_grad = true;
    CHECK(refusals(loaded, request, h100()) ==
          "width: expected 2 or more with gradients (at::layer_norm's of one value are rounding errors), got "
          "1");
    request.norm = NormKind::rms_norm;
    CHECK(refusals(loaded, request, h100()) == "");
}

TEST_CASE("no optimizer that comes along takes an algorithm that it does not know") {
    OptimizerRequest request;
    request.algorithm = OptimizerKind::custom;
    request.custom = "adafactor";
    for (const char* plugin : {"naive", "torch", "fused", "optim8bit"}) {
        INFO(plugin);
        CHECK_THAT(refusals(component(Kind::optimizer, plugin, plugin), request),
                   contains("algorithm: expected ") && contains(", got custom:adafactor"));
    }
}

TEST_CASE("torch optimizer: what LibTorch has no kernel for is refused") {
    const auto loaded = component(Kind::optimizer, "torch", "torch");
    OptimizerRequest request;
    request.algorithm = OptimizerKind::muon;
    CHECK(refusals(loaded, request) ==
          "algorithm: expected adamw, adam, sgd or lion (LibTorch has no kernel for others), got muon");
    CHECK(refusals(component(Kind::optimizer, "naive", "naive"), request) == "");
    request.algorithm = OptimizerKind::lion;
    CHECK(refusals(loaded, request) == "");
    CHECK(refusals(loaded, request, laptop(), "foreach") == "");
    CHECK(refusals(loaded, request, laptop(), "fused") ==
          "algorithm: expected adamw, adam or sgd for the variant fused, got lion");
    request.dtype = DType::bfloat16;
    CHECK(refusals(loaded, request) ==
          "dtype: expected float32 or float64, or master weights (LibTorch keeps moments in the dtype that "
          "it updates), got bfloat16");
    request.master_weights = true;
    CHECK(refusals(loaded, request) == "");
}

TEST_CASE("policies store parameters in float32") {
    PrecisionRequest request;
    request.dtype = DType::bfloat16;
    for (const auto& [plugin, id] :
         {std::pair("naive", "reference"), std::pair("torch", "fp32"), std::pair("torch", "bf16")}) {
        CHECK(refusals(component(Kind::precision, plugin, id), request) ==
              "dtype: expected float32 (parameters as the model stores them), got bfloat16");
    }
}

TEST_CASE("policies without a loss scale refuse one, and bf16 an old device") {
    PrecisionRequest request;
    request.loss_scaling = true;
    CHECK(refusals(component(Kind::precision, "naive", "reference"), request) ==
          "loss_scaling: expected false (float32 needs no loss scale), got true");
    for (const std::string id : {"fp32", "bf16"}) {
        CHECK(refusals(component(Kind::precision, "torch", id), request) ==
              "loss_scaling: expected false (its range needs no loss scale), got true");
    }
    request.loss_scaling = false;
    request.device = Device::cuda;
    auto old = h100();
    old.devices[0].compute_capability = 75;
    CHECK(refusals(component(Kind::precision, "torch", "bf16"), request, old) ==
          "compute_capability: expected 80 or more for bfloat16, got 75");
    CHECK(refusals(component(Kind::precision, "torch", "fp32"), request, old) == "");
}
