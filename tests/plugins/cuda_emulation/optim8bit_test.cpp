// The CUDA kernel of plugins/optim8bit on the emulated device: the conformance suite's cases, and code for
// code what the CPU's kernels make. To add a case of equality: `Case` below.
#include <limits>
#include <memory>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <switchyard/conformance/values.h>
#include <switchyard/conformance/verify.h>

#include "emulated_optim8bit.h"
#include "grid_emulation.h"
#include "optimizer.h"

#include <faults.h>
#include <local_component.h>
#include <switchyard_test.h>

namespace switchyard::test {

Verdict EmulatedOptim8Bit::supports(const OptimizerRequest& request, const HostInfo& host,
                                    const Options& options) {
    return Optim8Bit::supports(request, host, options);
}

}  // namespace switchyard::test

namespace {

using namespace switchyard;

const test::LocalComponent component = [] {
    auto made = test::local_component<Kind::optimizer, test::EmulatedOptim8Bit>(GradientMode::none,
                                                                                RandomSource::none);
    made.manifest.accuracy = Accuracy::reduced;
    made.manifest.accuracy_bound = 0.05;
    return made;
}();

struct Case {
    OptimizerKind algorithm;
    bool by_chance;
    at::ScalarType gradients;
};

Options options_of(const Case& c) {
    Options options;
    options.set("min_8bit_size", std::int64_t{200});
    options.set("keep_32bit", std::vector<std::string>{"wide"});
    options.set("stochastic_rounding", c.by_chance);
    options.set("seed", std::int64_t{0x123456789});
    return options;
}

std::vector<ParameterGroup> make_groups(const Case& c) {
    HyperParameters hyper;
    hyper.lr = 0.01;
    hyper.weight_decay = 0.1;
    std::vector<ParameterGroup> groups = {{"first", hyper, {}}, {"second", hyper, {}}};
    groups[1].hyper.beta1 = 0.8;
    // Below, at and past whole blocks and pieces.
    const std::vector<std::int64_t> counts = {1, 255, 256, 257, 8192, 9001};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        Parameter parameter;
        parameter.name = (i == 3 ? "wide" : "p") + std::to_string(i);
        parameter.value = conformance::bell({counts[i]}, 10 + i).to(at::kFloat);
        if (i == 5) {
            parameter.master = parameter.value;
            parameter.value = parameter.master.to(at::kBFloat16);
        }
        parameter.gradient = at::empty({counts[i]}, at::dtype(c.gradients));
        groups[i % 2].parameters.push_back(parameter);
    }
    return groups;
}

// The same parameters twice, on the CPU and on the emulated device, and an optimizer bound to each.
struct Both {
    explicit Both(const Case& c, OptimizerRequest wanted = {})
        : request(std::move(wanted)), cpu(make_groups(c)), device(make_groups(c)) {
        request.algorithm = c.algorithm;
        CreateInfo info;
        info.request = &request;
        info.options = options_of(c);
        on_cpu = std::make_unique<Optim8Bit>(info);
        on_device = std::make_unique<test::EmulatedOptim8Bit>(info);
        on_cpu->bind(cpu);
        on_device->bind(device);
    }
    void step(const StepParams& params = {}) {
        on_cpu->step(cpu, params);
        on_device->step(device, params);
    }
    // The same bits in all entries of their states.
    void check_states() {
        const OptimizerState expected = on_cpu->state(), found = on_device->state();
        CHECK(found.step == expected.step);
        REQUIRE(found.entries.size() == expected.entries.size());
        for (std::size_t i = 0; i < expected.entries.size(); ++i) {
            INFO(expected.entries[i].parameter << " " << expected.entries[i].key);
            CHECK(found.entries[i].value.equal(expected.entries[i].value));
        }
    }

    OptimizerRequest request;
    std::vector<ParameterGroup> cpu, device;
    std::unique_ptr<Optim8Bit> on_cpu;
    std::unique_ptr<test::EmulatedOptim8Bit> on_device;
};

// Over five decades, some of them 0.
void set_gradients(std::vector<ParameterGroup>& groups, std::uint64_t step) {
    for (auto& group : groups) {
        for (auto& parameter : group.parameters) {
            const std::uint64_t seed = 1000 * step + static_cast<std::uint64_t>(parameter.value.numel());
            const at::Tensor values = conformance::bell(parameter.value.sizes(), seed);
            const at::Tensor scale = (conformance::bell(parameter.value.sizes(), seed + 1) * 3.0).exp();
            const at::Tensor some = conformance::bell(parameter.value.sizes(), seed + 2).gt(-1.0);
            parameter.gradient.copy_(values * scale * some * 512.0);
        }
    }
}

}  // namespace

TEST_CASE("8-bit steps have the CPU's codes and scales in every bit on the emulated device") {
    // On processors without fused multiply-add the CPU rounds products that the device does not.
    if (__builtin_cpu_supports("fma") == 0) return switchyard::test::skip("no fused multiply-add");
    const auto c = GENERATE(values<Case>({{OptimizerKind::adamw, false, at::kFloat},
                                          {OptimizerKind::adamw, true, at::kBFloat16},
                                          {OptimizerKind::lion, false, at::kBFloat16},
                                          {OptimizerKind::lion, true, at::kFloat}}));
    OptimizerRequest unscaling;
    unscaling.unscale = true;
    Both both(c, unscaling);
    StepParams params;
    params.grad_scale = 512.0;
    for (std::uint64_t step = 0; step < 3; ++step) {
        set_gradients(both.cpu, step);
        set_gradients(both.device, step);
        both.step(params);
        emulation::last_warp_first() = !emulation::last_warp_first();
    }
    emulation::last_warp_first() = false;
    both.check_states();
    CHECK(both.on_device->state().step == 3);
    for (std::size_t g = 0; g < both.cpu.size(); ++g) {
        for (std::size_t i = 0; i < both.cpu[g].parameters.size(); ++i) {
            INFO(both.cpu[g].parameters[i].name);
            // Lion's w * keep - step may be contracted on the CPU.
            const double allowed = c.algorithm == OptimizerKind::lion ? 1e-6 : 0.0;
            const at::Tensor &found_w = step_target(both.device[g].parameters[i]),
                             &expected_w = step_target(both.cpu[g].parameters[i]);
            CHECK(found_w.allclose(expected_w, allowed, allowed));
        }
    }
}

TEST_CASE("a gradient that is not finite hurts on the emulated device what it hurts on the CPU") {
    if (__builtin_cpu_supports("fma") == 0) return switchyard::test::skip("no fused multiply-add");
    const auto c = GENERATE(
        values<Case>({{OptimizerKind::adamw, true, at::kFloat}, {OptimizerKind::lion, false, at::kFloat}}));
    Both both(c);
    for (std::uint64_t step = 0; step < 3; ++step) {
        for (auto* groups : {&both.cpu, &both.device}) {
            set_gradients(*groups, step);
            if (step != 1) continue;
            const at::Tensor& last = groups->back().parameters.back().gradient;  // p5, of 9001
            last[300].fill_(std::numeric_limits<float>::infinity());
            last[700].fill_(std::numeric_limits<float>::quiet_NaN());
            last[9000].fill_(1e30);
        }
        both.step();
    }
    both.check_states();
    const at::Tensor &found_w = step_target(both.device.back().parameters.back()),
                     &expected_w = step_target(both.cpu.back().parameters.back());
    CHECK(found_w.allclose(expected_w, 1e-6, 1e-6, true));
    const std::int64_t hurt = c.algorithm == OptimizerKind::adamw ? 2 : 0;  // lion takes a sign
    CHECK(found_w.isfinite().logical_not().sum().item<std::int64_t>() == hurt);
}

TEST_CASE("8-bit steps pass the suite's cases on the emulated device") {
    Options options = options_of({});
    options.set("stochastic_rounding", false);
    static const HostInfo host;
    for (const char* const part : {"adamw/unscale_clip/", "lion/state/", "adamw/found_inf/nan/clip/",
                                   "adamw/stride/value_permuted/"}) {
        conformance::VerifyOptions verify;
        verify.filter = part;
        verify.dtypes = {DType::float32, DType::bfloat16};
        const auto report = conformance::verify(component.under_test(host, options), verify);
        INFO(part);
        CHECK(test::faults(report) == "");
        CHECK(report.cases > 0);
    }
}
