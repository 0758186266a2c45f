#include <string>

#include <switchyard/sdk/serves.h>

#include "fake_quantized.h"
#include "linear.h"

namespace switchyard {
namespace {

// What all serve: a CPU, and x in a float that registers hold.
void require_floats_on_a_cpu(Verdict& verdict, const LinearRequest& request, std::string_view variant) {
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device),
            "set linear.backend = \"torch\"");
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    REQUIRE(verdict, request.output_dtype == request.dtype, Code::DType, "output_dtype",
            "the dtype of x, " + std::string(name(request.dtype)), name(request.output_dtype));
    REQUIRE(verdict, request.weight_format != WeightFormat::scaled, Code::DType, "weight_format",
            "dense or quantized", name(request.weight_format));
    REQUIRE(verdict, variant.empty(), Code::Variant, "variant",
            "none: the processor and the number of rows decide what runs", variant);
}

void require_no_gradient(Verdict& verdict, const LinearRequest& request) {
    REQUIRE(verdict, !request.needs_grad, Code::Gradient, "needs_grad",
            "false: weights of whole numbers are not trained", "true",
            "train with another backend, or with int8/fake_quantized to get the model used to it");
}

bool is_group(std::int64_t columns) { return columns >= 0 && columns % 16 == 0; }

void require_group(Verdict& verdict, const LinearRequest& request, const Options& options) {
    const bool stored = request.weight_format == WeightFormat::quantized;
    const auto group = stored ? request.weight_group : options.integer("group");
    REQUIRE(verdict, is_group(group), Code::Option, stored ? "weight_group" : "group",
            "a multiple of 16, or 0 for whole rows", group);
}

// Of a stored weight: its input's numbers and its bits.
void require_stored(Verdict& verdict, const LinearRequest& request, InputQuantization input, bool four,
                    bool eight) {
    if (request.weight_format != WeightFormat::quantized) return;
    REQUIRE(verdict, request.input_quantization == input, Code::Algorithm, "input_quantization", name(input),
            name(request.input_quantization));
    REQUIRE(verdict, (four && request.weight_bits == 4) || (eight && request.weight_bits == 8), Code::DType,
            "weight_bits",
            four && eight ? "8 or 4"
            : eight       ? "8"
                          : "4",
            request.weight_bits);
}

Verdict judged(const LinearRequest& request, const Options& options, std::string_view variant,
               InputQuantization input, bool four, bool eight) {
    Verdict verdict;
    require_floats_on_a_cpu(verdict, request, variant);
    require_no_gradient(verdict, request);
    require_group(verdict, request, options);
    require_stored(verdict, request, input, four, eight);
    return verdict;
}

}  // namespace

Verdict DynamicInt8::supports(const LinearRequest& request, const HostInfo&, const Options& options,
                              std::string_view variant) {
    return judged(request, options, variant, InputQuantization::dynamic, true, true);
}

Verdict StaticInt8::supports(const LinearRequest& request, const HostInfo&, const Options& options,
                             std::string_view variant) {
    Verdict verdict = judged(request, options, variant, InputQuantization::fixed, true, true);
    REQUIRE(verdict, request.weight_format == WeightFormat::quantized, Code::DType, "weight_format",
            "quantized, with the scales of inputs that `switchyard quantize --method static` finds",
            name(request.weight_format), "quantize the model first, or take int8/dynamic");
    return verdict;
}

Verdict WeightInt8::supports(const LinearRequest& request, const HostInfo&, const Options& options,
                             std::string_view variant) {
    return judged(request, options, variant, InputQuantization::none, false, true);
}

Verdict WeightInt4::supports(const LinearRequest& request, const HostInfo&, const Options& options,
                             std::string_view variant) {
    return judged(request, options, variant, InputQuantization::none, true, false);
}

Verdict FakeQuantized::supports(const LinearRequest& request, const HostInfo&, const Options& options,
                                std::string_view variant) {
    Verdict verdict;
    require_floats_on_a_cpu(verdict, request, variant);
    REQUIRE(verdict, request.weight_format == WeightFormat::dense, Code::DType, "weight_format",
            "dense: what is trained is stored as floats", name(request.weight_format));
    require_group(verdict, request, options);
    const auto bits = options.integer("bits");
    REQUIRE(verdict, bits == 8 || bits == 4, Code::Option, "bits", "8 or 4", bits);
    return verdict;
}

}  // namespace switchyard
