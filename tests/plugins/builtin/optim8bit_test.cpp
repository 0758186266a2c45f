// Optimizers whose moments are 8-bit codes: the code books, what is stored, and what a state that does not
// fit leaves behind. To add a case: a parameter from `one`, a step, and what must hold of optimizer->state().
#include "builtin.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

#include <switchyard/interfaces/optimizer.h>

#include "dynamic_codes.h"

#include <switchyard_test.h>

using namespace switchyard;
using optim8bit::CodeBook;
using switchyard::test::contains;

namespace {

// As published.
CodeBook published(const char* name) {
    std::ifstream file(test::source_dir() / "tests/fixtures/dynamic_codes.json");
    const auto bits = nlohmann::json::parse(file).at(name).get<std::vector<std::uint32_t>>();
    CodeBook book{};
    REQUIRE(bits.size() == book.size());
    std::memcpy(book.data(), bits.data(), sizeof book);
    return book;
}

std::vector<ParameterGroup> one(const at::Tensor& value, const std::string& name = "w") {
    return {{"all", {}, {{name, value, {}, {}}}}};
}

Options options_of(std::int64_t min_size, bool stochastic = false, std::int64_t seed = 0) {
    Options options;
    options.set("min_8bit_size", min_size);
    options.set("stochastic_rounding", stochastic);
    options.set("seed", seed);
    return options;
}

OptimizerRequest request_for(OptimizerKind algorithm) {
    OptimizerRequest request;
    request.algorithm = algorithm;
    return request;
}

test::Made<Optimizer> make(const OptimizerRequest& request, const Options& options = options_of(1)) {
    return test::make<Optimizer>("optim8bit", "optim8bit", request, "", options);
}

std::map<std::string, at::Tensor> entries(Optimizer& optimizer) {
    std::map<std::string, at::Tensor> by_key;
    for (const auto& entry : optimizer.state().entries) by_key[entry.key] = entry.value;
    return by_key;
}

// One AdamW step whose moments are the gradient and its square.
std::map<std::string, at::Tensor> stored(const at::Tensor& gradient, const Options& options = options_of(1)) {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = make(request, options);
    auto groups = one(at::zeros(gradient.sizes()));
    groups[0].hyper.beta1 = groups[0].hyper.beta2 = 0.0;
    optimizer->bind(groups);
    groups[0].parameters[0].gradient = gradient;
    optimizer->step(groups, {});
    auto result = entries(*optimizer);
    for (auto& [key, value] : result) value = value.clone();
    return result;
}

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Numbers over many decades, of both signs.
at::Tensor spread(std::int64_t n) { return at::randn({n}) * (at::randn({n}) * 3.0 - 6.0).exp(); }

}  // namespace

TEST_CASE("both code books are the published ones, value for value") {
    for (const auto& [name, book] : {std::pair{"signed", optim8bit::signed_codes()},
                                     std::pair{"unsigned", optim8bit::unsigned_codes()}}) {
        INFO(name);
        CHECK(std::memcmp(published(name).data(), book.data(), sizeof book) == 0);
    }
    CHECK(published("signed")[optim8bit::signed_zero] == 0.0F);
    CHECK(published("unsigned")[optim8bit::unsigned_zero] == 0.0F);
}

TEST_CASE("a step reads every code as its published value") {
    // With zero gradients and powers of 2 as betas, w = -(m / 2) / (sqrt(v / 4) + eps) in exact operations
    // but the root and the division.
    const auto request = request_for(OptimizerKind::adamw);
    const CodeBook first = published("signed"), second = published("unsigned");
    for (const bool vary_first : {true, false}) {
        const auto optimizer = make(request);
        auto groups = one(at::zeros({256}));
        groups[0].hyper = {.lr = 1.0, .beta1 = 0.5, .beta2 = 0.25, .eps = vary_first ? 0.5 : 0x1p-60};
        optimizer->bind(groups);
        const auto all = at::arange(256, at::kByte);
        optimizer->load({"adamw",
                         200,
                         {{"w", "exp_avg", vary_first ? all : at::full({256}, 255, at::kByte)},
                          {"w", "exp_avg_absmax", at::ones({1})},
                          {"w", "exp_avg_sq", vary_first ? at::zeros({256}, at::kByte) : all},
                          {"w", "exp_avg_sq_absmax", at::ones({1})}}});
        groups[0].parameters[0].gradient = at::zeros({256});
        optimizer->step(groups, {});
        for (std::size_t code = 0; code < 256; ++code) {
            const float m = vary_first ? first[code] : 1.0F, v = vary_first ? 0.0F : second[code];
            const float expected = -(0.5F * m) / (std::sqrt(0.25F * v) + (vary_first ? 0.5F : 0x1p-60F));
            INFO("code " << code << (vary_first ? " of the first moment" : " of the second moment"));
            CHECK(groups[0].parameters[0].value[static_cast<std::int64_t>(code)].item<float>() == expected);
        }
    }
}

TEST_CASE("what is stored is the nearest code, and what is not 0 does not become 0 in the second moment") {
    const std::int64_t count = 3000;  // the last block is not whole
    const auto gradient = spread(count);
    const auto found = stored(gradient);
    for (const bool is_signed : {true, false}) {
        const CodeBook book = published(is_signed ? "signed" : "unsigned");
        const std::string key = is_signed ? "exp_avg" : "exp_avg_sq";
        const auto codes = found.at(key), largest = found.at(key + "_absmax");
        const auto values = is_signed ? gradient : gradient * gradient;
        REQUIRE(codes.scalar_type() == at::kByte);
        REQUIRE(largest.numel() == 12);
        int wrong = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto block = values.slice(0, i / 256 * 256, std::min(count, i / 256 * 256 + 256));
            const double scale = block.abs().max().item<double>();
            if (largest[i / 256].item<double>() != scale) ++wrong;
            const double y = values[i].item<double>() / scale;
            double nearest = 2.0;
            for (const float code : book) {
                if (is_signed || code > 0.0F) nearest = std::min(nearest, std::abs(code - y));
            }
            if (std::abs(book[codes[i].item<std::uint8_t>()] - y) > nearest + 1e-6 * std::abs(y)) ++wrong;
        }
        INFO(key);
        CHECK(wrong == 0);
    }
    auto sparse = at::zeros({256});
    sparse[7] = 1.0;
    sparse[9] = 1e-6;
    const auto codes = stored(sparse).at("exp_avg_sq");
    CHECK(codes[8].item<int>() == 0);
    CHECK(codes[9].item<int>() == 1);
    CHECK(codes[7].item<int>() == 255);
}

TEST_CASE("a block of zeros stays zeros") {
    const auto found = stored(at::zeros({300}));
    CHECK(at::equal(found.at("exp_avg"), at::full({300}, optim8bit::signed_zero, at::kByte)));
    CHECK(at::equal(found.at("exp_avg_sq"), at::zeros({300}, at::kByte)));
    CHECK(at::equal(found.at("exp_avg_absmax"), at::zeros({2})));
}

TEST_CASE("a gradient that is not finite hurts its own weight, as with 32-bit moments, and no neighbour") {
    constexpr std::int64_t count = 600, hurt = 300, steps = 6;
    const auto algorithm = GENERATE(OptimizerKind::adamw, OptimizerKind::lion);
    const auto bad =
        GENERATE(as<float>{}, infinite, -infinite, not_a_number, 1e30F);  // the square of the last is Inf
    const auto stochastic = GENERATE(false, true);
    // Lion takes no squares: it is finite there, and an outlier that the scale of its block follows.
    if (algorithm == OptimizerKind::lion && std::isfinite(bad)) return;
    INFO(name(algorithm) << ", gradient " << bad << (stochastic ? ", stochastic rounding" : ""));
    const auto request = request_for(algorithm);
    const auto values = at::randn({count});
    auto gradients = at::randn({steps, count});
    gradients.select(1, hurt).fill_(1e-3);  // never the largest of its block
    struct Run {
        std::vector<ParameterGroup> groups;
        test::Made<Optimizer> optimizer;
        const at::Tensor& step(const at::Tensor& gradient) {
            groups[0].parameters[0].gradient = gradient;
            optimizer->step(groups, {});
            return groups[0].parameters[0].value;
        }
    };
    Run with{one(values.clone()), make(request, options_of(1, stochastic))};
    Run without{one(values.clone()), make(request, options_of(1, stochastic))};
    Run wide{one(values.clone()), test::make<Optimizer>("torch", "torch", request)};
    for (Run* run : {&with, &without, &wide}) run->optimizer->bind(run->groups);
    for (std::int64_t t = 0; t < steps; ++t) {
        auto gradient = gradients[t].clone();
        auto neighbours = without.step(gradient).clone();
        if (t == 1) gradient[hurt] = bad;
        const float before = with.groups[0].parameters[0].value[hurt].item<float>();
        const auto after = with.step(gradient).clone();
        const auto expected = wide.step(gradient)[hurt].item<float>();
        const auto found = after[hurt].item<float>();
        INFO("step " << t << ": " << found << ", with 32 bits " << expected);
        neighbours[hurt] = after[hurt] = 0.0F;
        CHECK(at::equal(after, neighbours));
        if (algorithm == OptimizerKind::adamw) CHECK(std::isfinite(found) == std::isfinite(expected));
        if (std::isfinite(found)) CHECK(std::abs(found - before) < 5e-3F);  // no leap: lr is 1e-3
        if (t == 1 && std::isfinite(expected)) CHECK(std::abs(found - expected) < 2.1e-3F);
    }
}

TEST_CASE("stochastic rounding is right in the mean, and the same again with the same seed") {
    const CodeBook book = published("signed");
    const std::int64_t count = 256 * 200;
    for (const double y : {0.3017, 0.0999, 0.102, -0.0411, 3e-4}) {
        auto gradient = at::full({count}, y);
        for (std::int64_t block = 0; block < count; block += 256) gradient[block] = 1.0;
        const auto first = stored(gradient, options_of(1, true, 7)).at("exp_avg");
        CHECK(at::equal(first, stored(gradient, options_of(1, true, 7)).at("exp_avg")));
        CHECK_FALSE(at::equal(first, stored(gradient, options_of(1, true, 8)).at("exp_avg")));
        double sum = 0.0, squares = 0.0;
        int n = 0;
        std::map<int, int> taken;
        for (std::int64_t i = 0; i < count; ++i) {
            if (i % 256 == 0) continue;
            const int code = first[i].item<int>();
            ++taken[code];
            sum += book[code];
            squares += std::pow(book[code] - y, 2);
            ++n;
        }
        INFO("of " << y);
        CHECK(taken.size() == 2);
        CHECK(taken.rbegin()->first - taken.begin()->first == 1);
        CHECK(std::abs(sum / n - y) < 5.0 * std::sqrt(squares / n / n) + 2e-5 * std::abs(y));
    }
}

TEST_CASE("small tensors and embeddings are kept in 32 bits unless an option says otherwise") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto bytes = [&](const at::Tensor& value, const std::string& name, const Options& options) {
        const auto optimizer = make(request, options);
        optimizer->bind(one(value, name));
        std::size_t sum = 0;
        for (const auto& entry : optimizer->state().entries) sum += entry.value.nbytes();
        return static_cast<double>(sum) / static_cast<double>(8 * value.numel());
    };
    CHECK(bytes(at::zeros({4095}), "w", {}) == 1.0);
    CHECK(bytes(at::zeros({64, 64}), "w", {}) <= 0.27);
    CHECK(bytes(at::zeros({64, 65}), "w", {}) <= 0.27);
    CHECK(bytes(at::zeros({100, 64}), "embeddings.word", {}) == 1.0);
    Options embeddings;
    embeddings.set("keep_32bit", std::vector<std::string>{});
    CHECK(bytes(at::zeros({100, 64}), "embeddings.word", embeddings) <= 0.27);
}

TEST_CASE("a state in 32 bits is refused by name where 8 bits are kept, and changes nothing") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = make(request);
    const auto torch = test::make<Optimizer>("torch", "torch", request);
    auto groups = one(at::randn({300}));
    optimizer->bind(groups);
    torch->bind(groups);
    groups[0].parameters[0].gradient = at::randn({300});
    optimizer->step(groups, {});
    std::map<std::string, at::Tensor> before;
    for (const auto& [key, value] : entries(*optimizer)) before[key] = value.clone();
    const auto refused = [&](const OptimizerState& state, const std::string& text) {
        CHECK_THROWS_WITH(optimizer->load(state), contains(text));
        for (const auto& [key, value] : entries(*optimizer)) CHECK(at::equal(value, before.at(key)));
        CHECK(optimizer->state().step == 1);
    };
    refused(torch->state(), "state entry 'exp_avg' of 'w' is of dtype Float, expected Byte");
    auto state = optimizer->state();
    state.step = 5;
    for (auto& entry : state.entries) entry.value = at::ones_like(entry.value);
    auto changed = state;
    changed.algorithm = "lion";
    refused(changed, "the state is of 'lion', this optimizer is 'adamw'");
    changed = state;
    changed.entries[0].parameter = "v";
    refused(changed, "state entry 'exp_avg' of 'w' is missing");
    changed = state;
    changed.entries[1].value = at::ones({1});
    refused(changed, "state entry 'exp_avg_absmax' of 'w' has shape [1], expected [2]");
    changed = state;
    changed.entries.push_back({"v", "exp_avg", at::ones({3})});
    refused(changed, "state entry 'exp_avg' of 'v' belongs to no parameter here");
    optimizer->load(state);
    CHECK(optimizer->state().step == 5);
}

TEST_CASE("8-bit steps name what they can't serve") {
    const auto request = request_for(OptimizerKind::lion);
    const auto optimizer = make(request);
    CHECK_THROWS_WITH(optimizer->bind({{"none", {}, {}}}),
                      "optim8bit optimizer: group 'none' has no parameters");
    auto groups = one(at::randn({8, 2}));
    optimizer->bind(groups);
    groups[0].parameters[0].gradient = at::ones({8, 2}).to_sparse();
    CHECK_THROWS_WITH(optimizer->step(groups, {}), "optim8bit optimizer: the gradient of 'w' is sparse");
    OptimizerRequest other = request_for(OptimizerKind::lamb);
    other.dtype = DType::float64;
    CHECK(test::refusals(test::component(Kind::optimizer, "optim8bit", "optim8bit"), other) ==
          "algorithm: expected adamw or lion, got lamb\n"
          "dtype: expected float32, bfloat16 or float16, got float64");
}

TEST_CASE("saved 8-bit state goes on bit for bit, stochastic rounding included") {
    const auto gradients = at::randn({6, 70, 70});
    for (const OptimizerKind algorithm : {OptimizerKind::adamw, OptimizerKind::lion}) {
        for (const bool stochastic : {false, true}) {
            const auto request = request_for(algorithm);
            const auto first = make(request, options_of(4096, stochastic));
            auto groups = one(at::ones({70, 70}));
            first->bind(groups);
            const auto run = [&](Optimizer& optimizer, std::vector<ParameterGroup>& on, int begin, int end) {
                for (int t = begin; t < end; ++t) {
                    on[0].parameters[0].gradient = gradients[t];
                    optimizer.step(on, {});
                }
            };
            run(*first, groups, 0, 3);
            auto saved = first->state();
            for (auto& entry : saved.entries) entry.value = entry.value.clone();
            const auto second = make(request, options_of(4096, stochastic));
            auto copies = one(groups[0].parameters[0].value.clone());
            second->bind(copies);
            second->load(saved);
            run(*first, groups, 3, 6);
            run(*second, copies, 3, 6);
            CHECK(at::equal(groups[0].parameters[0].value, copies[0].parameters[0].value));
        }
    }
}
