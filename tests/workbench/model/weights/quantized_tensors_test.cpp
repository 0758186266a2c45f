// Weights in 8 and 4 bits in files: what is written comes back bit for bit, and what the configuration does
// not say is refused by name.
#include "core/workbench/model/weights/quantized_tensors.h"
#include "core/workbench/model/weights/load_weights.h"

#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <switchyard/reference/quantized_weight.h>

#include <switchyard_test.h>

using namespace switchyard;
using config::QuantizationMethod;

namespace {

constexpr std::int64_t out = 8, in = 48;
const std::string layer = "encoder.0.attention.q", other = "encoder.0.attention.k";

config::Config config_of(QuantizationMethod method, std::int64_t group, bool zero_points) {
    config::Config config;
    config.quantization.method = method;
    config.quantization.group = group;
    config.quantization.zero_points = zero_points;
    return config;
}

model::Parameters parameters_of(const std::vector<std::string>& layers) {
    model::Parameters parameters;
    for (const auto& one : layers) parameters.add_quantized(one, out, in);
    return parameters;
}

std::string saved(const config::Config& config, const std::string& name) {
    auto parameters = parameters_of({layer});
    auto& weight = *parameters.quantized().front().weight;
    const auto& how = config.quantization;
    weight = reference::quantized(at::randn({out, in}), {how.bits(), how.group, how.zero_points});
    if (how.inputs() == InputQuantization::fixed)
        weight.input_scale = at::full({}, 0.25, at::TensorOptions().dtype(at::kFloat));
    const auto folder = (test::temporary_dir("quantized_tensors") / name).string();
    REQUIRE_FALSE(model::save_weights(folder, config, parameters).has_value());
    return folder;
}

// The first problem; empty: none.
std::string problem(const std::string& folder, const config::Config& config,
                    const std::vector<std::string>& layers = {layer}) {
    auto parameters = parameters_of(layers);
    const auto loaded = model::load_weights(folder, config, parameters);
    return loaded.problems.empty() ? "" : loaded.problems.front();
}

}  // namespace

TEST_CASE("a quantized weight comes back from its file bit for bit") {
    for (const auto method : {QuantizationMethod::dynamic, QuantizationMethod::fixed,
                              QuantizationMethod::weight_int8, QuantizationMethod::weight_int4}) {
        INFO(name(method));
        const bool four = method == QuantizationMethod::weight_int4;
        const auto config = config_of(method, four ? 32 : 0, four);
        const auto folder = saved(config, std::string(name(method)));
        auto parameters = parameters_of({layer});
        REQUIRE(model::load_weights(folder, config, parameters).problems.empty());
        const auto& weight = *parameters.quantized().front().weight;
        const auto file = model::SafetensorsFile::open(folder + "/model.safetensors").file;
        REQUIRE(file != nullptr);
        const auto stored = [&](const std::string& end) {
            return model::view_stored(file, *file->find(layer + end)).clone();
        };
        CHECK(weight.values.equal(stored(".weight_values")));
        CHECK(weight.scales.equal(stored(".weight_scales")));
        CHECK(weight.zero_points.defined() == four);
        CHECK(weight.input_scale.defined() == (method == QuantizationMethod::fixed));
        CHECK(weight.bits() == (four ? 4 : 8));
        CHECK(reference::problem_of(weight, out, in).empty());
        CHECK(parameters.all().empty());
    }
}

TEST_CASE("a quantized file of other layers, groups or bits is refused by name") {
    const auto config = config_of(QuantizationMethod::weight_int8, 32, false);
    const auto folder = saved(config, "refused");
    CHECK(problem(folder, config).empty());
    CHECK_THAT(problem(folder, config, {layer, other}), test::contains("has no tensor " + other));
    CHECK_THAT(problem(folder, config, {other}), test::contains("stores " + layer + " in 8 or 4 bits"));
    CHECK_THAT(problem(folder, config_of(QuantizationMethod::weight_int8, 16, false)),
               test::contains("\"weight_int8, groups of 32\""));
    CHECK_THAT(problem(folder, config_of(QuantizationMethod::weight_int4, 32, true)),
               test::contains("[quantization] says \"weight_int4, groups of 32, zero points\""));
}
