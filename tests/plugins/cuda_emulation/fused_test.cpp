// The CUDA kernels of plugins/fused against the float64 reference: the conformance suite's own cases, with
// the emulator as the device. To add a case: sdk/conformance/*_cases.cpp.
#include "emulated_fused.h"

#include "grid_emulation.h"

#include <faults.h>
#include <switchyard_test.h>

using namespace switchyard;
using test::faults;

namespace {

// Warps run in ascending order in one case and in descending order in the next.
conformance::Report verify(Kind kind, DType dtype, const std::string& filter = "") {
    conformance::VerifyOptions options;
    options.dtypes = {dtype};
    options.filter = filter;
    options.on_case = [](const std::string&) {
        emulation::last_warp_first() = !emulation::last_warp_first();
    };
    const auto report = conformance::verify(test::emulated_fused(kind), options);
    emulation::last_warp_first() = false;
    return report;
}

}  // namespace

TEST_CASE("every rule's step is right on the emulated device") {
    for (const char* const part :
         {"/plain/", "/unscale_clip/", "/state/", "/scalars_as_tensors/", "/large_gradients/", "/bad_",
          "/stride/value_", "found_inf/nan/clip/", "adamw/stride/"}) {
        const auto report = verify(Kind::optimizer, DType::float32, part);
        INFO(part);
        CHECK(faults(report) == "");
        CHECK(report.cases > 5);
        CHECK(report.skipped == 0);
    }
}

TEST_CASE("master weights and values in 16 bits are right on the emulated device") {
    CHECK(faults(verify(Kind::optimizer, DType::bfloat16, "/unscale_clip/")) == "");
    CHECK(faults(verify(Kind::optimizer, DType::float16, "adamw/state/")) == "");
}

TEST_CASE("normalization is right on the emulated device") {
    const auto report = verify(Kind::normalization, DType::float32);
    CHECK(faults(report) == "");
    CHECK(report.cases > 50);
    CHECK(report.skipped == 0);
    CHECK(faults(verify(Kind::normalization, DType::bfloat16, "dropout")) == "");
}

TEST_CASE("activation is right on the emulated device") {
    const auto report = verify(Kind::activation, DType::float32);
    CHECK(faults(report) == "");
    CHECK(report.cases > 50);
    CHECK(report.skipped == 0);
    CHECK(faults(verify(Kind::activation, DType::float16, "swiglu")) == "");
}

TEST_CASE("cross-entropy is right on the emulated device") {
    for (const char* const part : {"loss/logits", "loss/projection"}) {
        const auto report = verify(Kind::loss, DType::float32, part);
        INFO(part);
        CHECK(faults(report) == "");
        CHECK(report.cases > 25);
        CHECK(report.skipped == 0);
    }
    CHECK(faults(verify(Kind::loss, DType::bfloat16, "smoothing")) == "");
}
