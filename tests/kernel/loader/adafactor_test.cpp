// The example optimizer (examples/plugins/adafactor) is right: its steps in float64 are those of
// torch.optim.Adafactor, which tests/fixtures/make_adafactor.py wrote down.
#include <cmath>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/optimizer.h>
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

at::Tensor tensor_of(const nlohmann::json& values, const nlohmann::json& shape) {
    const auto sizes = shape.get<std::vector<std::int64_t>>();
    return at::tensor(values.get<std::vector<double>>(), at::kDouble).reshape(sizes).clone();
}

}  // namespace

TEST_CASE("the example optimizer steps as torch.optim.Adafactor does") {
    DiscoveryOptions options = only({build_dir() / "tests/support/plugins/example/libadafactor.so"});
    const HostInfo host = this_host(Look::cpu_only);
    Registry registry(discover(options, host));
    INFO(explain(registry.records()[0]));
    const auto loaded = registry.find(Kind::optimizer, "adafactor", "adafactor");
    REQUIRE(loaded.has_value());
    CHECK(loaded->manifest->custom == std::vector<std::string>{"adafactor"});

    std::ifstream file(source_dir() / "tests/fixtures/adafactor.json");
    const auto fixture = nlohmann::json::parse(file);
    REQUIRE(fixture.at("cases").size() == 4);
    for (const auto& one : fixture.at("cases")) {
        INFO(one.at("name").get<std::string>());
        OptimizerRequest request;
        request.dtype = request.gradient_dtype = DType::float64;
        request.algorithm = OptimizerKind::custom;
        request.custom = "adafactor";
        CreateInfo info;
        info.request = &request;
        info.host = &host;
        for (const char* option : {"decay_exponent", "clip_threshold", "smallest_scale"})
            info.options.set(option, one.at(option).get<double>());
        info.options.set("falling_rate", true);
        const auto optimizer = create<Optimizer>(*loaded, info);

        std::vector<ParameterGroup> groups{{"all", {}, {}}};
        groups[0].hyper.lr = one.at("lr").get<double>();
        groups[0].hyper.weight_decay = one.at("weight_decay").get<double>();
        for (const auto& [name, values] : one.at("start").items())
            groups[0].parameters.push_back({name, tensor_of(values, fixture.at("shapes").at(name)), {}, {}});
        optimizer->bind(groups);
        for (const auto& step : one.at("steps")) {
            for (Parameter& parameter : groups[0].parameters)
                parameter.gradient = tensor_of(step.at("gradients").at(parameter.name),
                                               fixture.at("shapes").at(parameter.name));
            optimizer->step(groups, {});
            for (const Parameter& parameter : groups[0].parameters) {
                INFO(parameter.name);
                const at::Tensor right =
                    tensor_of(step.at("values").at(parameter.name), fixture.at("shapes").at(parameter.name));
                CHECK((parameter.value - right).abs().max().item<double>() < 1e-12);
            }
        }
        CHECK(optimizer->state().algorithm == "custom:adafactor");
        CHECK(optimizer->state().step == 8);
        CHECK(optimizer->state().entries.size() == 6);
    }
}
