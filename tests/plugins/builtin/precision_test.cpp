// What precision policies say. To add a case: a policy, and what runs in what.
#include "builtin.h"

#include <switchyard/interfaces/precision.h>

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("the policies say what runs in what") {
    const PrecisionRequest request;
    const auto low = test::make<Precision>("torch", "bf16", request);
    for (const auto op : {OpClass::linear, OpClass::attention, OpClass::activation})
        CHECK(low->compute(op, "any") == DType::bfloat16);
    for (const auto op : {OpClass::normalization, OpClass::loss, OpClass::embedding, OpClass::residual}) {
        CHECK(low->compute(op, "any") == DType::float32);
    }
    const auto full = test::make<Precision>("torch", "fp32", request);
    const auto plain = test::make<Precision>("naive", "reference", request);
    for (int op = 0; op <= static_cast<int>(OpClass::residual); ++op) {
        CHECK(low->storage(static_cast<OpClass>(op), "any") == DType::float32);
        CHECK(full->compute(static_cast<OpClass>(op), "any") == DType::float32);
        CHECK(plain->compute(static_cast<OpClass>(op), "any") == DType::float32);
    }
}

TEST_CASE("tf32 alone lets float32 products round their operands") {
    PrecisionRequest request;
    request.device = Device::cuda;
    const auto make = [&](const char* plugin, const char* id) {
        return test::make<Precision>(plugin, id, request, "", {}, test::h100());
    };
    CHECK(make("amp", "tf32")->tf32("encoder.0.attention.q"));
    for (const auto& [plugin, id] :
         {std::pair("amp", "fp32"), {"amp", "bf16"}, {"torch", "fp32"}, {"torch", "bf16"}})
        CHECK_FALSE(make(plugin, id)->tf32("encoder.0.attention.q"));
}
