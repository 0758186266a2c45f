// What is a little too far off is judged by the median of five draws of values: by chance it may be so for
// one of them, a component that computes too coarsely is so for most.
#include <optional>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/reference/activation.h>

#include "component.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::Report;

namespace {

double offset = 0.0;
bool in_first_draw_only = false;
std::set<double> draws;             // the first value of each
std::optional<double> first_value;  // of the first draw

// The reference, and `offset` beside it.
class Offset final : public Activation {
public:
    explicit Offset(const CreateInfo& info) : Activation(info) {}
    static Verdict supports(const ActivationRequest&, const HostInfo&, const Options&) { return {}; }

    at::Tensor forward(const ActivationInputs& in, const ActivationParams& params, Saved*) override {
        executed();
        const at::Tensor y = reference::activation(in, params);
        const double value = in.x.reshape({-1})[0].item<double>();
        if (!first_value) first_value = value;
        draws.insert(value);
        return in_first_draw_only && value != *first_value ? y : y + offset;
    }
};

const test::LocalComponent entry =
    test::local_component<Kind::activation, Offset>(GradientMode::none, RandomSource::none);

Report verified(bool only_first) {
    in_first_draw_only = only_first;
    first_value.reset();
    draws.clear();
    conformance::VerifyOptions options;
    options.filter = "activation/silu/padded/threads/f32/";
    options.dtypes = {DType::float32};
    return conformance::verify(test::under_test(entry), options);
}

// Makes the error 1.1 to 1.3 times what is allowed.
void tune_offset() {
    offset = 1e-8;
    while (verified(false).worst_ratio < 1.1) offset *= 1.1;
}

}  // namespace

TEST_CASE("what is too far off in most draws is a fault") {
    tune_offset();
    const Report report = verified(false);
    CHECK(report.cases == 1);
    CHECK(report.failed == 1);
    CHECK(report.worst_ratio < 1.5);
}

TEST_CASE("what is a little too far off in one draw of five is none") {
    tune_offset();
    const Report report = verified(true);
    CHECK(draws.size() == 5);
    CHECK(report.failed == 0);
    CHECK(report.worst_ratio < 1.0);
}

TEST_CASE("what is twice as far off as allowed is a fault at once") {
    tune_offset();
    offset *= 2.0;
    const Report report = verified(true);
    CHECK(draws.size() == 1);
    CHECK(report.failed == 1);
    CHECK(report.worst_ratio > 1.5);
}

TEST_CASE("what rounds its operands is held to the size of the terms where these cancel by chance") {
    using conformance::Judgement;
    const auto kind = [&](std::int64_t values, double error, double size) {
        conformance::Yardstick yardstick;
        yardstick.oracle = at::full({values}, 0.01, at::kDouble);
        yardstick.reduced_bound = 0.02;
        yardstick.reduced_size = size;
        return conformance::judge(yardstick.oracle + error, yardstick).kind;
    };
    CHECK(kind(10000, 1.9e-4, 0.0) == Judgement::Kind::fine);
    CHECK(kind(10000, 2.1e-4, 0.0) == Judgement::Kind::too_far);
    CHECK(kind(10000, 0.019, 1.0) == Judgement::Kind::fine);
    CHECK(kind(10000, 0.021, 1.0) == Judgement::Kind::too_far);
    // A single error may be three times as large as those of many are.
    CHECK(kind(1, 0.059, 1.0) == Judgement::Kind::fine);
    CHECK(kind(1, 0.061, 1.0) == Judgement::Kind::too_far);
}
