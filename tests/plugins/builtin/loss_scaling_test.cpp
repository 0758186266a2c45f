// amp's policies beside what conformance sees: dynamic loss scaling against PyTorch's GradScaler, and which
// layers stay in float32.
// To add a sequence of overflows: a case of grad_scaler() in tests/fixtures/make_fixtures.py.
#include "builtin.h"

#include <ATen/ops/cat.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

Options scaling_of(const test::FixtureCase& fixture) {
    Options options;
    for (const char* key : {"init_scale", "growth_factor", "backoff_factor"}) {
        if (fixture.numbers.contains(key)) options.set(key, fixture.numbers[key].get<double>());
    }
    if (fixture.numbers.contains("growth_interval"))
        options.set("growth_interval", fixture.numbers["growth_interval"].get<std::int64_t>());
    return options;
}

std::vector<ParameterGroup> groups_of(const test::FixtureCase& fixture) {
    ParameterGroup group;
    group.name = "all";
    group.hyper.lr = 0.01;
    group.hyper.weight_decay = 0.1;
    for (const std::string number : {"0", "1"}) {
        Parameter parameter;
        parameter.name = "p" + number;
        parameter.value = fixture["start" + number].clone();
        group.parameters.push_back(parameter);
    }
    return {group};
}

// Two micro-batches, each of a loss that was multiplied with the scale.
void accumulate(std::vector<ParameterGroup>& groups, const test::FixtureCase& fixture, std::int64_t step,
                double scale) {
    for (std::size_t i = 0; i < 2; ++i) {
        const auto halves = fixture["gradient" + std::to_string(i)][step];
        groups[0].parameters[i].gradient = halves[0].mul(scale).add_(halves[1].mul(scale));
    }
}

at::Tensor values_of(const std::vector<ParameterGroup>& groups) {
    return at::cat({groups[0].parameters[0].value.flatten(), groups[0].parameters[1].value.flatten()});
}

}  // namespace

TEST_CASE("fp16 scales, backs off, grows, skips and clips as GradScaler did, step by step") {
    PrecisionRequest request;
    request.loss_scaling = true;
    OptimizerRequest optimizing;
    optimizing.clip = optimizing.unscale = true;
    const std::string backend = GENERATE("naive", "torch");
    for (const auto& fixture : test::load_fixture("grad_scaler")) {
        const auto policy = test::make<Precision>("amp", "fp16", request, "", scaling_of(fixture));
        const auto optimizer = test::make<Optimizer>(backend, backend, optimizing);
        auto groups = groups_of(fixture);
        optimizer->bind(groups);
        const auto scales = fixture["scale"];
        for (std::int64_t step = 0; step + 1 < scales.size(0); ++step) {
            INFO(fixture.name << ", " << backend << ", step " << step);
            REQUIRE(policy->loss_scale() == scales[step].item<double>());
            accumulate(groups, fixture, step, policy->loss_scale());
            StepParams params;
            params.max_grad_norm = 0.5;
            params.grad_scale = policy->loss_scale();
            const auto result = optimizer->step(groups, params);
            const bool skipped = result.found_inf.item<float>() != 0.0F;
            CHECK(skipped != fixture["made"][step].item<bool>());
            if (!skipped)
                CHECK(result.grad_norm.item<double>() ==
                      Approx(fixture["norm"][step].item<double>()).epsilon(1e-5));
            CHECK(values_of(groups).allclose(fixture["values"][step], 1e-5, 1e-6));
            policy->update(skipped);
        }
        CHECK(policy->loss_scale() == scales[-1].item<double>());
    }
}

TEST_CASE("a loss scale goes on where it was saved, and refuses what is none") {
    PrecisionRequest request;
    request.loss_scaling = true;
    Options quick;
    quick.set("growth_interval", std::int64_t{3});
    const auto first = test::make<Precision>("amp", "fp16", request, "", quick);
    first->update(true);
    first->update(false);
    first->update(false);
    const auto second = test::make<Precision>("amp", "fp16", request, "", quick);
    second->load(first->state());
    CHECK(second->loss_scale() == 32768.0);
    second->update(false);
    CHECK(second->loss_scale() == 65536.0);
    CHECK_THROWS_WITH(second->load({}), test::contains("there is no number 'loss_scale'"));
    auto broken = first->state();
    broken.entries[0].value.fill_(0.0);
    CHECK_THROWS_WITH(second->load(broken), test::contains("is of no use"));
    CHECK(second->loss_scale() == 65536.0);
}

TEST_CASE("layers that are kept stay in float32, and what stands below them") {
    const PrecisionRequest request;
    Options options;
    options.set("keep", std::vector<std::string>{"encoder.0", "*.attention.out", "decoder.?.feed_forward"});
    const auto policy = test::make<Precision>("amp", "bf16", request, "", options);
    for (const char* kept : {"encoder.0", "encoder.0.attention.q", "encoder.11.attention.out",
                             "decoder.3.feed_forward", "decoder.3.feed_forward.up"})
        CHECK(policy->compute(OpClass::linear, kept) == DType::float32);
    for (const char* low :
         {"encoder.01", "encoder.1", "encoder.1.attention.q", "decoder.10.feed_forward.up", "model"})
        CHECK(policy->compute(OpClass::linear, low) == DType::bfloat16);
    const auto products = test::make<Precision>("amp", "bf16_products", request, "", options);
    CHECK(products->compute(OpClass::linear, "encoder.0.attention.q") == DType::float32);
    CHECK(products->compute(OpClass::linear, "encoder.1.attention.q") == DType::bfloat16);
    for (const OpClass between : {OpClass::attention, OpClass::activation, OpClass::normalization})
        CHECK(products->compute(between, "encoder.1") == DType::float32);
}
