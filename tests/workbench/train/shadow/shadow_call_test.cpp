// One call made twice, by functions in place of components, and the numbers that are said of two tensors. To
// add a case: what a candidate does, and what must be said of it.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/train/shadow/drift.h"
#include "core/workbench/train/shadow/shadow_call.h"

#include <switchyard_test.h>

using namespace switchyard;
using train::TensorList;

namespace {

using Operation = std::function<TensorList(const TensorList&)>;

train::ShadowCall call_of(Operation candidate) {
    train::ShadowCall call;
    call.layer = "here";
    call.input_names = {"x", "weight"};
    call.output_names = {"y"};
    call.inputs = {at::randn({4, 3}), at::randn({3})};
    call.needs = {true, true};
    call.trusted = [](const TensorList& in) { return TensorList{in[0] * in[1]}; };
    call.candidate = std::move(candidate);
    call.incoming = {at::randn({4, 3})};
    return call;
}

}  // namespace

TEST_CASE("drift is relative to the root mean square of the trusted tensor") {
    const auto trusted = at::tensor({3.0, -4.0, 0.0, 0.0});  // root mean square 2.5
    const auto candidate = at::tensor({3.0, -4.0, 0.5, -1.0});
    const auto drift = train::drift_of({{"out", trusted, candidate}}, "");
    CHECK(drift.fault.empty());
    CHECK(drift.mean == Approx(std::sqrt((0.25 + 1.0) / 4.0) / 2.5));
    CHECK(drift.largest == Approx(1.0 / 2.5));
    CHECK(drift.tensor == "out");
}

TEST_CASE("the worst tensor of a call is named, and one that is next to nothing is no drift") {
    const auto large = at::full({4}, 8.0F), rounding = at::full({4}, 1e-12F);
    const auto drift = train::drift_of({{"q", large, large + 1.0}, {"k", rounding, -rounding}}, "");
    CHECK(drift.tensor == "q");
    CHECK(drift.largest == Approx(1.0 / 8.0));
    CHECK(drift.fault.empty());
}

TEST_CASE("tensors of more values than are looked at in one piece are compared whole") {
    const auto trusted = at::full({(1 << 20) + 7}, 2.0F);
    auto candidate = trusted.clone();
    candidate[(1 << 20) + 6] = 5.0F;
    CHECK(train::drift_of({{"y", trusted, candidate}}, "").largest == Approx(1.5));
}

TEST_CASE("a value that is not finite is a fault where the trusted one is finite, and not where it is not") {
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto broken = at::tensor({1.0, nan}), fine = at::tensor({1.0, 2.0});
    CHECK_THAT(train::drift_of({{"out", fine, broken}}, "the gradient of ").fault,
               test::contains("1 NaN of 2 values in the gradient of out"));
    const auto both = train::drift_of({{"lse", broken, broken}}, "");
    CHECK(both.fault.empty());
    CHECK(both.largest == 0.0);
    CHECK_THAT(train::drift_of({{"y", at::zeros({2}), fine}}, "").fault, test::contains("not zero"));
}

TEST_CASE("outputs and gradients of both are compared") {
    auto call = call_of([](const TensorList& in) { return TensorList{in[0] * (in[1] * 1.5)}; });
    const auto expected = call.inputs[0] * call.inputs[1];
    const auto found = train::run_twice(call, Device::cpu, false);
    CHECK(found.fault.empty());
    REQUIRE(found.has_gradients);
    CHECK(found.outputs.mean == Approx(0.5));  // every value is half as large again
    CHECK(found.gradients.mean == Approx(0.5));
    CHECK(found.outputs.largest == Approx(0.5 * expected.abs().max().item<double>() /
                                          std::sqrt((expected * expected).mean().item<double>())));
    CHECK(found.trusted_ms > 0.0);
    CHECK(found.candidate_ms > 0.0);
}

TEST_CASE("what a candidate writes to does not reach what it was given a copy of") {
    auto call = call_of([](const TensorList& in) {
        const auto y = in[0] * in[1];
        in[1].mutable_data_ptr<float>()[0] += 1.0F;  // as a kernel does: autograd does not notice
        return TensorList{y.clone()};
    });
    const auto x = call.inputs[0].clone(), weight = call.inputs[1].clone();
    const auto gradient = call.incoming[0].clone();
    const auto found = train::run_twice(call, Device::cpu, true);
    CHECK_THAT(found.fault, test::contains("wrote to weight"));
    CHECK(call.inputs[0].equal(x));
    CHECK(call.inputs[1].equal(weight));
    CHECK(call.incoming[0].equal(gradient));
}

TEST_CASE("what a candidate throws is a fault, in its first line") {
    auto call = call_of([](const TensorList&) -> TensorList { throw std::runtime_error("no\nreason"); });
    CHECK(train::run_twice(call, Device::cpu, false).fault == "no");
}

TEST_CASE("random numbers that both draw are the same, and none is missed afterwards") {
    const auto noisy = [](const TensorList& in) { return TensorList{in[0] * in[1] + at::rand({4, 3})}; };
    auto call = call_of(noisy);
    call.trusted = noisy;
    const auto before = at::detail::getDefaultCPUGenerator().get_state().clone();
    for (const bool candidate_first : {false, true}) {
        const auto found = train::run_twice(call, Device::cpu, candidate_first);
        CHECK(found.outputs.largest == 0.0);
        CHECK(at::detail::getDefaultCPUGenerator().get_state().equal(before));
    }
}

// y = 2 sum, sum = x + weight: what arrives at sum in the graph has what comes through y in it.
TEST_CASE("of an output that another is made of only the gradient from outside is given") {
    const auto pre = [](const TensorList& in) {
        const auto sum = in[0] + in[1];
        return TensorList{sum * 2.0, sum};
    };
    auto call = call_of(pre);
    call.trusted = pre;
    call.output_names = {"y", "sum"};
    call.last_is_operand = true;
    const auto of_y = at::full({4, 3}, 3.0), outside = at::full({4, 3}, 1.0);
    call.incoming = {of_y, outside + of_y * 2.0};
    const auto found = train::run_twice(call, Device::cpu, false);
    CHECK(found.fault.empty());
    CHECK(call.incoming[1].equal(outside));
}
