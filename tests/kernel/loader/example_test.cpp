// The example plugin (examples/plugin) is right: forward against ATen in float64, backward against central
// differences of it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/silu.h>

#include <switchyard/interfaces/activation.h>
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::runtime;
using namespace switchyard::test;

namespace {

at::Tensor oracle(const at::Tensor& x_R2W) {
    const auto halves = x_R2W.chunk(2, -1);
    return at::silu(halves[0]) * halves[1];
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("the example plugin computes SwiGLU and its gradient") {
    DiscoveryOptions options = only({build_dir() / "tests/support/plugins/example/libgated.so"});
    const HostInfo host = this_host(Look::cpu_only);
    Registry registry(discover(options, host));
    INFO(explain(registry.records()[0]));
    const auto loaded = registry.find(Kind::activation, "gated", "gated");
    REQUIRE(loaded.has_value());

    ActivationRequest request;
    request.activation = ActivationKind::swiglu;
    CreateInfo info;
    info.request = &request;
    info.host = &host;
    info.options.set("grain", std::int64_t{256});
    const auto component = create<Activation>(*loaded, info);

    const at::Tensor x = at::linspace(-6.0, 6.0, 3 * 5 * 34, at::kDouble).view({3, 5, 34});
    // A transposed view: any strides are allowed.
    const at::Tensor x_float = x.to(at::kFloat).transpose(0, 2).contiguous().transpose(0, 2);
    ActivationParams params;
    params.activation = ActivationKind::swiglu;
    Saved saved;
    const at::Tensor y = component->forward({x_float, {}}, params, &saved);
    CHECK(y.sizes() == at::IntArrayRef({3, 5, 17}));
    CHECK(largest_difference(y, oracle(x)) < 1e-5);

    const at::Tensor grad_y = at::linspace(-1.0, 2.0, y.numel(), at::kDouble).view_as(y);
    const at::Tensor grad_x = component->backward(params, saved, grad_y.to(at::kFloat), {}).x;
    const double h = 1e-5;
    const auto halves = x.chunk(2, -1);
    for (int half = 0; half < 2; ++half) {
        const auto moved = [&](double step) {
            return oracle(half == 0 ? at::cat({halves[0] + step, halves[1]}, -1)
                                    : at::cat({halves[0], halves[1] + step}, -1));
        };
        const at::Tensor expected = (moved(h) - moved(-h)) / (2 * h) * grad_y;
        CHECK(largest_difference(grad_x.chunk(2, -1)[half], expected) < 1e-4);
    }
}

TEST_CASE("an empty batch comes back empty") {
    DiscoveryOptions options = only({build_dir() / "tests/support/plugins/example/libgated.so"});
    const HostInfo host = this_host(Look::cpu_only);
    Registry registry(discover(options, host));
    ActivationRequest request;
    request.activation = ActivationKind::swiglu;
    CreateInfo info;
    info.request = &request;
    info.host = &host;
    info.options.set("grain", std::int64_t{256});
    const auto component =
        create<Activation>(registry.find(Kind::activation, "gated", "gated").value(), info);
    CHECK(component->forward({at::ones({0, 8}), {}}, {}, nullptr).sizes() == at::IntArrayRef({0, 4}));
}
