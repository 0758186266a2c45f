// What fp8 refuses, and in which words. To add a case: the request or the options with one thing changed, and
// the whole text.
#include "builtin.h"

#include <switchyard/interfaces/request.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string refusals(const PrecisionRequest& request, const Options& options, const HostInfo& host,
                     const std::string& variant = "") {
    return test::refusals(test::component(Kind::precision, "fp8", "fp8"), request, host, variant, options);
}

Options with(const std::string& name, const OptionValue& value) {
    Options options;
    options.set("cpu_reference", true);
    options.set(name, value);
    return options;
}

// What is said first where there is none; that the plugin was built without nvcc may follow.
constexpr const char* no_device = "device: expected cpu, or cuda on a host that has such a device, got cuda";

PrecisionRequest on(Device device) {
    PrecisionRequest request;
    request.device = device;
    return request;
}

}  // namespace

TEST_CASE("on a cpu fp8 must be asked for as a reference") {
    const std::string text =
        "cpu_reference: expected true on a cpu, which has no products in float8: there the same numbers are "
        "computed as a reference, slower than in float32, got false";
    CHECK(refusals({}, {}, test::laptop()) == text);
    CHECK(refusals({}, {}, test::h100()) == text);
    CHECK(refusals({}, with("cpu_reference", true), test::laptop()) == "");
}

TEST_CASE("on a device fp8 wants Hopper") {
    const auto request = on(Device::cuda);
    CHECK(refusals(request, {}, test::h100()) == "");
    CHECK(refusals(request, {}, test::laptop()).starts_with(no_device));
    HostInfo ampere = test::h100();
    ampere.devices.front().compute_capability = 80;
    CHECK(refusals(request, {}, ampere) ==
          "compute_capability: expected 90 (Hopper's products in float8), got 80");
}

TEST_CASE("parameters are float32, losses are not scaled, rows have scales with recipe current alone") {
    PrecisionRequest request;
    request.dtype = DType::bfloat16;
    request.loss_scaling = true;
    CHECK(refusals(request, with("scale", std::string("row")), test::laptop(), "float8") ==
          "dtype: expected float32 (parameters as the model stores them), got bfloat16\n"
          "loss_scaling: expected false (gradients have scales of their own), got true\n"
          "variant: expected none: whether a layer is multiplied in float8 is decided by name and size, got "
          "float8\n"
          "scale: expected tensor with recipe delayed; row goes with recipe current alone, got row");
    auto options = with("scale", std::string("row"));
    options.set("recipe", std::string("current"));
    CHECK(refusals({}, options, test::laptop()) == "");
}

TEST_CASE("products in float8 want operands with scales, and on a device what they take") {
    const auto loaded = test::component(Kind::linear, "fp8", "scaled");
    LinearRequest request;
    CHECK(test::refusals(loaded, request, test::laptop(), "float8") ==
          "weight_format: expected scaled (operands in float8, as the precision policy fp8 makes them), got "
          "dense\n"
          "dtype: expected float8_e4m3fn, got float32\n"
          "weight_dtype: expected float8_e4m3fn, got float32\n"
          "output_dtype: expected bfloat16, got float32\n"
          "variant: expected none: sizes and operands decide what runs, got float8");
    request.weight_format = WeightFormat::scaled;
    request.dtype = request.weight_dtype = DType::float8_e4m3fn;
    request.output_dtype = DType::bfloat16;
    CHECK(test::refusals(loaded, request) == "");
    request.device = Device::cuda;
    CHECK(test::refusals(loaded, request, test::h100()) == "");
    CHECK(test::refusals(loaded, request, test::laptop()).starts_with(no_device));
    HostInfo ampere = test::h100();
    ampere.devices.front().compute_capability = 80;
    CHECK(test::refusals(loaded, request, ampere) ==
          "compute_capability: expected 90 (Hopper's products in float8), got 80");
}
