// Optimizers of all plugins against torch.optim and the published formulas (tests/fixtures), 100 steps in
// float32. To hold another one: add it to `held`.
#include "builtin.h"

#include <algorithm>

#include <ATen/TensorOperators.h>

#include <switchyard/interfaces/optimizer.h>

#include "optimizer_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Held {
    std::string plugin;
    double allowed;  // of the largest difference, relative to the largest value
    Options options;
};

std::vector<Held> held() {
    Options eight_bits;
    eight_bits.set("min_8bit_size", std::int64_t{1});
    return {{"naive", 2e-4, {}},
            {"torch", 2e-4, {}},
            {"fused", 2e-4, {}},
            {"optim8bit", 2e-4, {}},  // small tensors: in 32 bits
            {"optim8bit", 5e-2, eight_bits}};
}

double difference(const at::Tensor& found, const at::Tensor& expected) {
    const auto wide = expected.to(at::kDouble);
    return ((found.to(at::kDouble) - wide).abs().max() / wide.abs().max()).item<double>();
}

// Of the parameters after step 1, 10 and 100.
double worst_of(Optimizer& optimizer, const test::FixtureCase& c) {
    double worst = 0.0;
    test::run_steps(optimizer, c, at::kFloat, [&](std::int64_t t, const auto& groups, const StepResult&) {
        for (std::size_t i = 0; i < 2; ++i)
            worst = std::max(worst, difference(groups[i].parameters[0].value, test::value_after(c, i, t)));
    });
    return worst;
}

}  // namespace

TEST_CASE("100 steps of every optimizer agree with PyTorch's") {
    int compared = 0;
    for (const auto& c : test::load_fixture("optimizer")) {
        OptimizerRequest request;
        request.algorithm = test::algorithm_of(c);
        request.clip = c.numbers.at("max_grad_norm") > 0.0;
        // A sign that turns on the last bit of a float32 is no error of Lion's.
        if (request.algorithm == OptimizerKind::lion) continue;
        for (const auto& [plugin, allowed, options] : held()) {
            if (!test::refusals(test::component(Kind::optimizer, plugin, plugin), request).empty()) continue;
            const auto optimizer = test::make<Optimizer>(plugin, plugin, request, "", options);
            INFO(plugin << " " << c.name << (options.values().empty() ? "" : " in 8 bits"));
            CHECK(worst_of(*optimizer, c) < allowed);
            ++compared;
        }
    }
    CHECK(compared >= 11 + 7 + 11 + 4);
}
