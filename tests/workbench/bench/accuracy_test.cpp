// Which results are right: distances worked out by hand.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include "core/workbench/bench/accuracy.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using switchyard::test::Approx;

namespace {

CheckedTensors one(const std::vector<double>& values, at::ScalarType dtype = at::kDouble,
                   bool gradient = false) {
    return {{gradient ? "grad q" : "out", at::tensor(values, at::kDouble).to(dtype), gradient}};
}

const std::vector<double> oracle{3.0, -4.0, 3.0, -4.0};  // root mean square sqrt(12.5)

}  // namespace

TEST_CASE("an error is relative to the oracle's root mean square, and may be twice the reference's") {
    const double scale = std::sqrt(12.5);
    const auto reference = one({3.1, -4.1, 3.1, -4.1});
    const ErrorReport good = judge_results(one({3.15, -4.15, 3.15, -4.15}), reference, one(oracle), 0.0);
    CHECK(good.error == Approx(0.15 / scale));
    CHECK(good.allowed == Approx(0.2 / scale));
    CHECK_FALSE(good.exceeded());
    CHECK(judge_results(one({3.21, -4.21, 3.21, -4.21}), reference, one(oracle), 0.0).exceeded());
}

TEST_CASE("a gradient may be three times as far off as the reference's") {
    const auto reference = one({3.1, -4.1, 3.1, -4.1}, at::kDouble, true);
    const auto candidate = one({3.28, -4.28, 3.28, -4.28}, at::kDouble, true);
    CHECK_FALSE(judge_results(candidate, reference, one(oracle, at::kDouble, true), 0.0).exceeded());
}

TEST_CASE("one value among many that is far off is caught by the maximum") {
    std::vector<double> exact(64, 3.0), near(64, 3.1), off(64, 3.0);
    off[7] = 3.9;
    const ErrorReport report = judge_results(one(off), one(near), one(exact), 0.0);
    CHECK(report.exceeded());
    CHECK(report.of == "max of out");
    CHECK(report.allowed == Approx(0.8 / 3.0));
    off[7] = 3.7;
    CHECK_FALSE(judge_results(one(off), one(near), one(exact), 0.0).exceeded());
}

TEST_CASE("a gradient summed up over rows may be off as a running sum is") {
    const auto with_rows = [](CheckedTensors gradient) {
        gradient.push_back({"out", at::ones({4 * 4096}, at::kDouble)});
        return gradient;
    };
    const auto exact = one(oracle, at::kDouble, true);
    const auto candidate = one({3.000002, -4.000002, 3.000002, -4.000002}, at::kFloat, true);
    CHECK_FALSE(judge_results(with_rows(candidate), with_rows(exact), with_rows(exact), 0.0).exceeded());
    CHECK(judge_results(candidate, exact, exact, 0.0).exceeded());
}

TEST_CASE("NaN is never right") {
    const ErrorReport report =
        judge_results(one({std::nan(""), -4.0, 3.0, -4.0}), one(oracle), one(oracle), 0.5);
    CHECK(report.exceeded());
}

TEST_CASE("rounding to the dtype is not an error") {
    const std::vector<double> values{0.1, -0.7, 1.3, 2.9};
    CHECK_FALSE(
        judge_results(one(values, at::kBFloat16), one(values, at::kBFloat16), one(values), 0.0).exceeded());
    CHECK_FALSE(judge_results(one(values, at::kBFloat16), one(values), one(values), 0.0).exceeded());
}

TEST_CASE("a reduced component is held to the bound that it declares") {
    const auto candidate = one({3.3, -4.3, 3.3, -4.3});
    CHECK(judge_results(candidate, one(oracle), one(oracle), 0.0).exceeded());
    CHECK_FALSE(judge_results(candidate, one(oracle), one(oracle), 0.05).exceeded());
    // Of four values it is twice as much, since few errors may be large by chance (tolerance.h).
    CHECK(judge_results(candidate, one(oracle), one(oracle), 0.04).exceeded());
}

TEST_CASE("the tensor that is worst off is the one reported") {
    CheckedTensors exact = one(oracle), candidate = one({3.01, -4.0, 3.0, -4.0}),
                   reference = one({3.1, -4.1, 3.1, -4.1});
    exact.push_back({"grad q", at::tensor(oracle, at::kDouble), true});
    candidate.push_back({"grad q", at::tensor({9.0, 9.0, 9.0, 9.0}, at::kDouble), true});
    reference.push_back({"grad q", at::tensor({3.1, -4.1, 3.1, -4.1}, at::kDouble), true});
    CHECK(judge_results(candidate, reference, exact, 0.0).of.find("grad q") != std::string::npos);
}

TEST_CASE("results that are not there are a mistake of the caller's") {
    CHECK_THROWS_AS(judge_results({}, one(oracle), one(oracle), 0.0), std::logic_error);
}
