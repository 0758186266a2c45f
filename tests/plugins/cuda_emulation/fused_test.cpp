// The CUDA kernels of plugins/fused against the float64 reference: the conformance suite's own cases, with
// the emulator as the device. To add a case: sdk/conformance/*_cases.cpp.
#include "emulated_fused.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>

#include "cuda/activation/activation_on_device.h"
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

TEST_CASE("activation far out has the limits' values and slopes on the emulated device") {
    const device::Queue queue{nullptr, 1};
    std::vector<float> far{88.0F, 100.0F, 1e4F, 1e10F, 1e13F, 1e20F, 1e38F, 3.4e38F};
    const auto x = at::tensor(far);
    ActivationParams params;
    for (const auto kind :
         {ActivationKind::gelu_erf, ActivationKind::gelu_tanh, ActivationKind::silu, ActivationKind::relu}) {
        INFO(name(kind));
        params.activation = kind;
        for (const bool negative : {false, true}) {
            Saved saved;
            const auto given = negative ? -x : x;
            const auto y = fused_cuda::activate({given, {}}, params, &saved, queue);
            const auto slope =
                fused_cuda::activate_backward(params, saved, at::ones_like(y), {true, false}, queue).x;
            CHECK((negative ? y.abs().lt(1e-30).all().item<bool>() : y.equal(x)));
            CHECK(slope.eq(negative ? 0.0 : 1.0).all().item<bool>());
        }
    }
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
