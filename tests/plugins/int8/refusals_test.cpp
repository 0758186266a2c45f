// What the components of int8 refuse, in words.
#include <switchyard/interfaces/request.h>

#include "tests/plugins/builtin/builtin.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

LinearRequest asked_request() {
    LinearRequest made;
    made.phase = Phase::eval;
    made.rows = {1, 64};
    made.in = 64;
    made.out = 64;
    return made;
}

std::string refusals(const char* id, const LinearRequest& asked, const Options& options = {}) {
    return test::refusals(test::component(Kind::linear, "int8", id), asked, test::laptop(), "", options);
}

}  // namespace

TEST_CASE("weights of whole numbers are not trained, but what is quantized and back is") {
    auto asked = asked_request();
    asked.needs_grad = true;
    asked.phase = Phase::train;
    for (const char* id : {"dynamic", "weight_int8", "weight_int4"})
        CHECK(refusals(id, asked) ==
              "needs_grad: expected false: weights of whole numbers are not trained, got true");
    CHECK(refusals("fake_quantized", asked).empty());
}

TEST_CASE("a group of other than a multiple of 16 columns is refused by name") {
    Options odd;
    odd.set("group", std::int64_t{24});
    CHECK(refusals("dynamic", asked_request(), odd) ==
          "group: expected a multiple of 16, or 0 for whole rows, got 24");
    Options bits;
    bits.set("bits", std::int64_t{6});
    CHECK(refusals("fake_quantized", asked_request(), bits) == "bits: expected 8 or 4, got 6");
}

TEST_CASE("static serves weights that were stored with the scale of their input, and no others") {
    CHECK(refusals("static", asked_request()) ==
          "weight_format: expected quantized, with the scales of inputs that `switchyard quantize --method "
          "static` finds, got dense");
    auto stored = asked_request();
    stored.weight_format = WeightFormat::quantized;
    stored.weight_bits = 8;
    stored.input_quantization = InputQuantization::fixed;
    CHECK(refusals("static", stored).empty());
    CHECK(refusals("dynamic", stored) == "input_quantization: expected dynamic, got static");
    stored.input_quantization = InputQuantization::none;
    CHECK(refusals("weight_int8", stored).empty());
    CHECK(refusals("weight_int4", stored) == "weight_bits: expected 4, got 8");
}

TEST_CASE("float64, a device and operands with scales are refused") {
    auto asked = asked_request();
    asked.dtype = asked.weight_dtype = asked.output_dtype = DType::float64;
    CHECK(refusals("weight_int8", asked) == "dtype: expected float32, bfloat16 or float16, got float64");
    asked = asked_request();
    asked.device = Device::cuda;
    CHECK(refusals("weight_int8", asked) == "device: expected cpu, got cuda");
}
