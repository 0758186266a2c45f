// The moving average of weights against its formula.
#include "core/workbench/train/weight_average.h"

#include <ATen/ops/full.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

ParameterGroup group_of(std::vector<std::pair<std::string, at::Tensor>> values) {
    ParameterGroup group;
    for (auto& [name, value] : values) {
        Parameter parameter;
        parameter.name = name;
        parameter.value = value;
        if (value.element_size() < 4) parameter.master = value.to(at::kFloat);
        group.parameters.push_back(std::move(parameter));
    }
    return group;
}

double value(const at::Tensor& tensor) { return tensor.flatten()[0].item<double>(); }

}  // namespace

TEST_CASE("the average is decay times itself and 1 - decay times the weights") {
    const auto weight = at::full({2, 2}, 1.0);
    train::WeightAverage average(0.75, {group_of({{"w", weight}})});
    CHECK(value(average.values().at("w")) == 1.0);
    double expected = 1.0;
    for (const double next : {5.0, -3.0, 2.0}) {
        weight.fill_(next);
        average.update();
        expected = 0.75 * expected + 0.25 * next;
        CHECK(value(average.values().at("w")) == Approx(expected));
    }
    {
        const train::WeightAverage::Shown shown(average);
        CHECK(value(weight) == Approx(expected));
    }
    CHECK(value(weight) == 2.0);
    average.keep();
    CHECK(value(weight) == Approx(expected));
}

TEST_CASE("of weights of low precision it is that of their masters") {
    const auto weight = at::full({3}, 1.0, at::kBFloat16);
    auto group = group_of({{"w", weight}});
    const auto master = group.parameters[0].master;
    train::WeightAverage average(0.5, {group});
    master.fill_(1.0009765625);  // bfloat16 rounds it to 1
    weight.copy_(master);
    average.update();
    CHECK(value(average.values().at("w")) == 1.00048828125);
}

TEST_CASE("it goes on from what was saved, and begins with the weights where nothing was") {
    const auto a = at::full({1}, 3.0), b = at::full({1}, 4.0);
    train::WeightAverage average(0.5, {group_of({{"a", a}, {"b", b}})});
    average.set({{"a", at::full({1}, 7.0)}});
    CHECK(value(average.values().at("a")) == 7.0);
    CHECK(value(average.values().at("b")) == 4.0);
    average.update();
    CHECK(value(average.values().at("a")) == 5.0);
}
