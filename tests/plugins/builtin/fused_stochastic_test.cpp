// Masters rounded to bfloat16 by chance. The oracle is the core's generator, one value at a time. To add a
// case: masters, a step, what the values must be.
#include "builtin.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/optimizer.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

test::Made<Optimizer> make(const OptimizerRequest& request, bool stochastic = true) {
    Options options;
    options.set("stochastic_rounding", stochastic);
    return test::make<Optimizer>("fused", "fused", request, "", options);
}

OptimizerRequest bfloat16_request() {
    OptimizerRequest request;
    request.dtype = request.gradient_dtype = DType::bfloat16;
    request.master_weights = true;
    return request;
}

ParameterGroup group_of(const std::vector<at::Tensor>& masters, double lr) {
    ParameterGroup group;
    group.name = "all";
    group.hyper.lr = lr;
    for (std::size_t i = 0; i < masters.size(); ++i) {
        Parameter parameter;
        parameter.name = "w" + std::to_string(i);
        parameter.master = masters[i].clone();
        parameter.value = masters[i].to(at::kBFloat16);
        parameter.gradient = at::zeros_like(parameter.value);
        group.parameters.push_back(parameter);
    }
    return group;
}

std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// What stochastic_rows.h says, for one element.
std::uint16_t expected(float master, std::int64_t step, std::uint32_t tensor, std::uint32_t element) {
    const auto seed = site_seed(0x726F756E64696E67U, static_cast<std::uint64_t>(step), 0);
    const auto number = dropout_number(seed, {tensor, 0, element / 2048, element % 2048});
    return static_cast<std::uint16_t>((bits_of(master) + number) >> 16U);
}

std::int64_t differing(const Parameter& parameter, std::int64_t step, std::uint32_t tensor) {
    const auto* const master = parameter.master.const_data_ptr<float>();
    const auto* const value = static_cast<const std::uint16_t*>(parameter.value.const_data_ptr());
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < parameter.value.numel(); ++i)
        count += value[i] == expected(master[i], step, tensor, static_cast<std::uint32_t>(i)) ? 0 : 1;
    return count;
}

}  // namespace

TEST_CASE("each value is rounded by the number of its step, tensor and index") {
    const auto request = bfloat16_request();
    const auto made = make(request);
    std::vector<ParameterGroup> groups{
        group_of({at::randn({300, 257}), at::randn({5}), at::randn({2049})}, 1e-3)};
    made->bind(groups);
    for (std::int64_t step = 1; step <= 3; ++step) {
        for (auto& parameter : groups[0].parameters)
            parameter.gradient = at::randn(parameter.value.sizes()).to(at::kBFloat16);
        (void)made->step(groups, {});
        for (std::uint32_t i = 0; i < 3; ++i) CHECK(differing(groups[0].parameters[i], step, i) == 0);
    }
}

TEST_CASE("the mean of many roundings is the value") {
    const auto request = bfloat16_request();
    const auto made = make(request);
    // Three tenths of the way from 1 to the next bfloat16, and as far from -1.
    const float up = 1.0F + 0.3F * 0x1p-7F;
    std::vector<ParameterGroup> groups{group_of({at::full({32, 1024}, up), at::full({32, 1024}, -up)}, 0.0)};
    made->bind(groups);
    double sums[2] = {0.0, 0.0};
    constexpr int steps = 8;
    for (int step = 0; step < steps; ++step) {
        (void)made->step(groups, {});
        for (int i = 0; i < 2; ++i)
            sums[i] += groups[0]
                           .parameters[static_cast<std::size_t>(i)]
                           .value.to(at::kDouble)
                           .mean()
                           .item<double>() /
                       steps;
    }
    // Five standard errors of a share of 0.3 in 8 x 32,768 draws, in units of 2^-7.
    const double error = 5.0 * std::sqrt(0.3 * 0.7 / (steps * 32768.0)) * 0x1p-7;
    CHECK(std::abs(sums[0] - static_cast<double>(up)) < error);
    CHECK(std::abs(sums[1] + static_cast<double>(up)) < error);
}

TEST_CASE("what bfloat16 holds stays, Inf and NaN too, and nothing rounds to Inf") {
    const auto request = bfloat16_request();
    const auto made = make(request);
    const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
    auto master = at::full({64}, 1.5F);
    master.narrow(0, 0, 16).fill_(inf);
    master.narrow(0, 16, 16).fill_(most);
    master.narrow(0, 32, 16).fill_(-0.0F);
    std::vector<ParameterGroup> groups{group_of({master}, 0.0)};
    groups[0].parameters[0].value.fill_(7.0);
    made->bind(groups);
    (void)made->step(groups, {});
    const auto* const bits =
        static_cast<const std::uint16_t*>(groups[0].parameters[0].value.const_data_ptr());
    for (int i = 0; i < 16; ++i) {
        CHECK(bits[i] == 0x7F80);
        CHECK(bits[16 + i] == 0x7F7F);
        CHECK((bits[32 + i] & 0x7FFF) == 0);
        CHECK(bits[48 + i] == 0x3FC0);
    }
}

TEST_CASE("threads and a resumption change no bit, and without the option values are the nearest") {
    const auto request = bfloat16_request();
    const std::vector<at::Tensor> masters{at::randn({1000, 257}), at::randn({77})};
    const auto gradient = [](const Parameter& parameter, int step) {
        return parameter.value.mul(0.01 * (step + 1));
    };
    const auto run = [&](int threads, int resume_at, bool stochastic) {
        const int before = at::get_num_threads();
        at::set_num_threads(threads);
        auto made = make(request, stochastic);
        std::vector<ParameterGroup> groups{group_of(masters, 1e-2)};
        made->bind(groups);
        for (int step = 0; step < 4; ++step) {
            if (step == resume_at) {
                auto state = made->state();
                for (auto& entry : state.entries) entry.value = entry.value.clone();
                made = make(request, stochastic);
                made->bind(groups);
                made->load(state);
            }
            for (auto& parameter : groups[0].parameters) parameter.gradient = gradient(parameter, step);
            (void)made->step(groups, {});
        }
        at::set_num_threads(before);
        return groups[0].parameters;
    };
    const auto once = run(1, -1, true);
    for (const auto& other : {run(3, -1, true), run(1, 2, true)}) {
        CHECK(other[0].value.equal(once[0].value));
        CHECK(other[1].value.equal(once[1].value));
    }
    const auto nearest = run(1, -1, false);
    CHECK(nearest[0].value.equal(nearest[0].master.to(at::kBFloat16)));
    CHECK_FALSE(once[0].value.equal(once[0].master.to(at::kBFloat16)));
}

TEST_CASE("a device is refused, whose kernels round to the nearest") {
    auto request = bfloat16_request();
    request.device = Device::cuda;
    Options options;
    options.set("stochastic_rounding", true);
    const auto loaded = test::component(Kind::optimizer, "fused", "fused");
    CHECK_THAT(
        test::refusals(loaded, request, test::h100(), "", options),
        test::contains("stochastic_rounding: expected false on cuda, where the kernels round to the nearest, "
                       "got true"));
    options.set("stochastic_rounding", false);
    CHECK(test::refusals(loaded, request, test::h100(), "", options).find("stochastic") == std::string::npos);
}
