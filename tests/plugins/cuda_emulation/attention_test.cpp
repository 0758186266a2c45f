// The CUDA kernels against the float64 reference: the conformance suite's own cases, with the emulator as the
// device. To add a case: sdk/conformance/attention_cases.cpp. All of bfloat16 run here, of float16 those
// whose numbers differ in more than rounding.
#include "emulated_attention.h"

#include "grid_emulation.h"

#include <faults.h>
#include <switchyard_test.h>

using namespace switchyard;
using test::faults;

namespace {

// Warps run in ascending order in one case and in descending order in the next.
conformance::Report verify(DType dtype, const std::string& filter = "") {
    conformance::VerifyOptions options;
    options.dtypes = {dtype};
    options.filter = filter;
    options.nan_in_key_padding = true;
    options.on_case = [](const std::string&) {
        emulation::last_warp_first() = !emulation::last_warp_first();
    };
    emulation::statistics() = {};
    const auto report = conformance::verify(test::emulated_attention(), options);
    emulation::last_warp_first() = false;
    return report;
}

}  // namespace

TEST_CASE("every case of bfloat16 is right on the emulated device") {
    const auto report = verify(DType::bfloat16);
    CHECK(faults(report) == "");
    CHECK(report.cases > 180);
    CHECK(report.skipped < 40);  // head sizes that are no multiple of 8 or above 256
    CHECK(emulation::statistics().bank_conflicts == 0);
    CHECK(emulation::statistics().largest_shared <= 163 * 1024);  // what 8.0 has
}

TEST_CASE("float16: masks, dropout, large scores and decoding are right on the emulated device") {
    for (const char* const part : {"packed/none/", "/dropout/one_hot", "/large/", "/cache/", "/pages", "/head_dim/"}) {
        const auto report = verify(DType::float16, part);
        INFO(part);
        CHECK(faults(report) == "");
        CHECK(report.cases > 0);
    }
}
