// Optimizers of all plugins against torch.optim and the published formulas (tests/fixtures), 100 steps in
// float32. To hold another one: add it to `held`.
#include "builtin.h"

#include <ATen/TensorOperators.h>

#include <switchyard/interfaces/optimizer.h>

#include "fixture.h"

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

HyperParameters hyper_of(const nlohmann::json& numbers) {
    HyperParameters hyper;
    hyper.lr = numbers.at("lr");
    hyper.beta1 = numbers.at("beta1");
    hyper.beta2 = numbers.at("beta2");
    hyper.weight_decay = numbers.value("weight_decay", 0.0);
    hyper.momentum = numbers.value("momentum", 0.0);
    hyper.nesterov = numbers.value("nesterov", false);
    return hyper;
}

double difference(const at::Tensor& found, const at::Tensor& expected) {
    const auto wide = expected.to(at::kDouble);
    return ((found.to(at::kDouble) - wide).abs().max() / wide.abs().max()).item<double>();
}

// Of the parameters after step 1, 10 and 100.
double worst_of(Optimizer& optimizer, const test::FixtureCase& c) {
    const HyperParameters hyper = hyper_of(c.numbers);
    std::vector<ParameterGroup> groups{{"first", hyper, {}}, {"second", hyper, {}}};
    for (int i = 0; i < 2; ++i) {
        const auto number = std::to_string(i);
        groups[i].parameters.push_back({"w" + number, c["start" + number].to(at::kFloat), {}, {}});
    }
    optimizer.bind(groups);
    StepParams params;
    params.max_grad_norm = c.numbers.at("max_grad_norm");
    double worst = 0.0;
    for (std::int64_t t = 1; t <= 100; ++t) {
        for (int i = 0; i < 2; ++i)
            groups[i].parameters[0].gradient = c["grads" + std::to_string(i)][t - 1].to(at::kFloat);
        optimizer.step(groups, params);
        if (t != 1 && t != 10 && t != 100) continue;
        for (int i = 0; i < 2; ++i) {
            const auto& expected = c["value" + std::to_string(i) + "_" + std::to_string(t)];
            worst = std::max(worst, difference(groups[i].parameters[0].value, expected));
        }
    }
    return worst;
}

}  // namespace

TEST_CASE("100 steps of every optimizer agree with PyTorch's") {
    int compared = 0;
    for (const auto& c : test::load_fixture("optimizer")) {
        OptimizerRequest request;
        request.algorithm = *parse<OptimizerKind>(c.numbers.at("algorithm").get<std::string>());
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
