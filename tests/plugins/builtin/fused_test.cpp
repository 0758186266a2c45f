// What the conformance suite does not ask of plugins/fused: the widest rows, the same bits on any number of
// threads, memory, NaN, and the error of its GELU over the whole range. To add a case: another call of the
// component, against a formula in double precision.
#include "builtin.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/reference/normalization.h>
#include "core/kernel/machine/cpu_allocator.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Normalized {
    NormalizationOutputs out;
    NormalizationGrads grads;
};

// norm(residual + dropout(x + bias)) and all its gradients.
Normalized normalize(const NormalizationInputs& inputs, const NormalizationParams& params,
                     const HostInfo& host = test::laptop()) {
    NormalizationRequest request;
    request.needs_grad = true;
    const auto component = test::make<Normalization>("fused", "fused", request, "", {}, host);
    Saved saved;
    Normalized made;
    made.out = component->forward(inputs, params, &saved);
    made.grads = component->backward(params, saved, made.out.y * 0.5 + 1.0, made.out.sum,
                                     {true, true, true, true, true});
    return made;
}

NormalizationInputs random_inputs(at::IntArrayRef sizes) {
    const auto width = sizes.back();
    return {at::randn(sizes), at::randn({width}), at::randn(sizes), at::randn({width}), at::randn({width})};
}

class ThreadCount {
public:
    explicit ThreadCount(int threads) { at::set_num_threads(threads); }
    ~ThreadCount() { at::set_num_threads(before_); }

private:
    int before_ = at::get_num_threads();
};

at::Tensor activate(const at::Tensor& x, ActivationKind kind, at::Tensor* slope = nullptr,
                    const HostInfo& host = test::laptop()) {
    ActivationRequest request;
    request.activation = kind;
    const auto component = test::make<Activation>("fused", "fused", request, "", {}, host);
    ActivationParams params;
    params.activation = kind;
    Saved saved;
    const auto y = component->forward({x, {}}, params, &saved);
    if (slope != nullptr) *slope = component->backward(params, saved, at::ones_like(y), {true, false}).x;
    return y;
}

struct Differentiated {
    at::Tensor loss;
    LossGrads grads;
};

// A loss and all its gradients.
Differentiated differentiate(const LossInputs& inputs, const LossParams& params) {
    LossRequest request;
    request.needs_grad = true;
    request.projection = inputs.weight.defined();
    const auto component = test::make<Loss>("fused", "fused", request);
    Saved saved;
    Differentiated made;
    made.loss = component->forward(inputs, params, &saved).loss;
    made.grads = component->backward(params, saved, at::ones({}),
                                     {true, inputs.weight.defined(), inputs.bias.defined()});
    return made;
}

}  // namespace

TEST_CASE("fused normalization: rows of 65,536 values are right") {
    const auto inputs = random_inputs({1, 3, 65536});
    const NormalizationParams params;
    const auto made = normalize(inputs, params);
    NormalizationInputs doubles = inputs;
    for (auto* t : {&doubles.x, &doubles.bias, &doubles.residual, &doubles.weight, &doubles.beta})
        *t = t->to(at::kDouble);
    const auto expected = reference::normalization(doubles, params);
    CHECK((made.out.y - expected.y).abs().max().item<double>() < 1e-5);
    CHECK((made.out.sum - expected.sum).abs().max().item<double>() < 1e-6);
}

TEST_CASE("fused normalization: the same bits on any number of threads") {
    const auto inputs = random_inputs({4, 129, 257});
    NormalizationParams params;
    params.dropout = {0.1, 7};
    Normalized one, three;
    {
        const ThreadCount threads(1);
        one = normalize(inputs, params);
    }
    {
        const ThreadCount threads(3);
        three = normalize(inputs, params);
    }
    CHECK(one.out.y.equal(three.out.y));
    CHECK(one.grads.x.equal(three.grads.x));
    CHECK(one.grads.bias.equal(three.grads.bias));
    CHECK(one.grads.residual.equal(three.grads.residual));
    CHECK(one.grads.weight.equal(three.grads.weight));
    CHECK(one.grads.beta.equal(three.grads.beta));
}

TEST_CASE("fused: results that are written around the caches have the same bits") {
    HostInfo without = test::laptop(), tiny = test::laptop();
    without.l3_bytes = 0;  // nothing goes around a cache that is not known
    tiny.l3_bytes = 1;
    const auto dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
    const auto width = GENERATE(64, 100, 768);
    const double p = GENERATE(0.0, 0.1);
    INFO(dtype << ", width " << width << ", dropout " << p);
    auto inputs = random_inputs({2, 33, width});
    inputs.x = inputs.x.to(dtype);
    inputs.residual = inputs.residual.to(dtype);
    NormalizationParams params;
    params.dropout = {p, 7};
    const auto expected = normalize(inputs, params, without), found = normalize(inputs, params, tiny);
    CHECK(found.out.y.equal(expected.out.y));
    CHECK(found.out.sum.equal(expected.out.sum));
    CHECK(found.grads.x.equal(expected.grads.x));
    CHECK(found.grads.residual.equal(expected.grads.residual));
    CHECK(found.grads.weight.equal(expected.grads.weight));
    for (const auto kind : {ActivationKind::gelu_erf, ActivationKind::swiglu}) {
        at::Tensor slope, expected_slope;
        CHECK(
            activate(inputs.x, kind, &slope, tiny).equal(activate(inputs.x, kind, &expected_slope, without)));
        CHECK(slope.equal(expected_slope));
    }
}

TEST_CASE("fused normalization: less than 60 % of what LibTorch's calls keep for backward") {
    machine::install_cpu_allocator(config::Allocator::caching);
    const auto inputs = random_inputs({1, 256, 768});
    const auto live = [] { return machine::cpu_memory_stats().live_bytes; };

    NormalizationRequest request;
    request.needs_grad = true;
    const auto component = test::make<Normalization>("fused", "fused", request);
    NormalizationParams params;
    params.dropout = {0.1, 7};
    auto before = live();
    Saved saved;
    const auto y = component->forward(inputs, params, &saved).y;
    const auto kept = live() - before - static_cast<std::int64_t>(y.nbytes());

    const auto x = inputs.x.detach().requires_grad_();
    before = live();
    const auto theirs = at::layer_norm(inputs.residual + at::dropout(x + inputs.bias, 0.1, true), {768},
                                       inputs.weight, inputs.beta);
    const auto theirs_kept = live() - before - static_cast<std::int64_t>(theirs.nbytes());
    CHECK(kept > 0);
    CHECK(kept * 10 <= theirs_kept * 6);
}

TEST_CASE("fused activation: GELU and its slope are right over the whole range") {
    const auto x = at::arange(-12.0, 12.0, 0.001, at::kFloat);
    at::Tensor slope;
    const auto y = activate(x, ActivationKind::gelu_erf, &slope);
    double worst = 0.0, worst_slope = 0.0;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const auto v = static_cast<double>(x.const_data_ptr<float>()[i]);
        const double phi = 0.5 * std::erfc(-v / std::sqrt(2.0));
        const double bell = std::exp(-0.5 * v * v) / std::sqrt(2.0 * std::acos(-1.0));
        const double unit = std::max(1.0, std::abs(v));
        worst = std::max(worst, std::abs(y.const_data_ptr<float>()[i] - v * phi) / unit);
        worst_slope = std::max(worst_slope, std::abs(slope.const_data_ptr<float>()[i] - (phi + v * bell)));
    }
    CHECK(worst < 3e-7);
    CHECK(worst_slope < 1e-6);
}

TEST_CASE("fused activation: far out the limits are kept, and NaN stays NaN") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto kind :
         {ActivationKind::gelu_erf, ActivationKind::gelu_tanh, ActivationKind::silu, ActivationKind::relu}) {
        INFO(name(kind));
        CHECK(activate(at::full({3}, 1000.0F), kind).eq(1000.0F).all().item<bool>());
        CHECK(activate(at::full({3}, -1000.0F), kind).abs().lt(1e-30).all().item<bool>());
        CHECK(activate(at::full({3}, nan), kind).isnan().all().item<bool>());
    }
}

TEST_CASE("fused activation: values and slopes are the limits' at every size of finite numbers") {
    std::vector<float> far{88.0F, 100.0F, 1e4F, 1e10F, 1e13F, 1e20F, 1e38F, 3.4e38F};
    const auto x = at::tensor(far);
    const auto sixteen = at::tensor(far).to(at::kBFloat16).clamp_max(3.3e38);
    for (const auto kind :
         {ActivationKind::gelu_erf, ActivationKind::gelu_tanh, ActivationKind::silu, ActivationKind::relu}) {
        INFO(name(kind));
        for (const auto& numbers : {x, sixteen}) {
            at::Tensor slope;
            CHECK(activate(numbers, kind, &slope).equal(numbers));
            CHECK(slope.eq(1.0).all().item<bool>());
            CHECK(activate(-numbers, kind, &slope).abs().lt(1e-30).all().item<bool>());
            CHECK(slope.eq(0.0).all().item<bool>());
        }
    }
}

TEST_CASE("fused loss: a projection needs a tenth of the logits' memory besides its gradients") {
    machine::install_cpu_allocator(config::Allocator::caching);
    constexpr std::int64_t rows = 2048, classes = 16384, width = 8;
    const auto weight = at::randn({classes, width}).requires_grad_();
    const LossInputs inputs{
        at::randn({rows, width}).requires_grad_(), weight, {}, at::randint(classes, {rows}, at::kLong)};
    LossRequest request;
    request.needs_grad = true;
    request.projection = true;
    const auto component = test::make<Loss>("fused", "fused", request);
    const at::NoGradGuard no_grad;
    Saved saved;
    machine::reset_cpu_peak();
    const auto before = machine::cpu_memory_stats().live_bytes;
    component->forward(inputs, {}, &saved);
    const auto grads = component->backward({}, saved, at::ones({}), {true, true, false});
    const auto extra = machine::cpu_memory_stats().peak_bytes - before;
    const auto results = static_cast<std::int64_t>(grads.x.nbytes() + grads.weight.nbytes());
    CHECK(extra > 0);
    CHECK(extra - results <= rows * classes * 4 / 10);
}

TEST_CASE("fused loss: the same bits on any number of threads, in tiles and in rows") {
    LossParams params;
    params.label_smoothing = 0.1;
    for (const auto type : {at::kFloat, at::kBFloat16}) {
        const at::Tensor labels = at::randint(3000, {300}, at::kLong), bias = at::randn({3000}).to(type);
        const LossInputs projected{at::randn({300, 66}).to(type), at::randn({3000, 66}).to(type), bias,
                                   labels};
        const LossInputs given{at::randn({300, 3000}).to(type), {}, {}, labels};
        for (const LossInputs& inputs : {projected, given}) {
            const auto run = [&](int threads) {
                const ThreadCount several(threads);
                return differentiate(inputs, params);
            };
            const Differentiated one = run(1), three = run(3);
            CHECK(one.loss.equal(three.loss));
            CHECK(one.grads.x.equal(three.grads.x));
            if (!inputs.weight.defined()) continue;
            CHECK(one.grads.weight.equal(three.grads.weight));
            CHECK(one.grads.bias.equal(three.grads.bias));
        }
    }
}

TEST_CASE("fused loss: logits that are given up hold their gradient, and nothing else is needed") {
    machine::install_cpu_allocator(config::Allocator::caching);
    const at::Tensor logits = at::randn({64, 20000}), labels = at::randint(20000, {64}, at::kLong);
    const Differentiated expected = differentiate({logits, {}, {}, labels}, {});
    const at::Tensor given = logits.clone();
    LossParams params;
    params.may_overwrite_logits = true;
    machine::reset_cpu_peak();
    const auto before = machine::cpu_memory_stats().live_bytes;
    const Differentiated made = differentiate({given, {}, {}, labels}, params);
    CHECK(machine::cpu_memory_stats().peak_bytes - before < 100'000);
    CHECK(made.loss.equal(expected.loss));
    CHECK(made.grads.x.equal(expected.grads.x));
    CHECK(made.grads.x.is_alias_of(given));
}

TEST_CASE("fused loss: rows with a logit that is not a number have a loss and gradients that are none") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    at::Tensor logits = at::randn({3, 5000});
    logits[1][2000].fill_(nan);
    const at::Tensor labels = at::randint(5000, {3}, at::kLong);
    const Differentiated given = differentiate({logits, {}, {}, labels}, {});
    CHECK(given.loss.isnan().item<bool>());
    CHECK(given.grads.x[1].isnan().all().item<bool>());
    CHECK(given.grads.x[2].isfinite().all().item<bool>());

    at::Tensor x = at::randn({3, 8});
    x[1][4].fill_(nan);
    const Differentiated projected = differentiate({x, at::randn({5000, 8}), {}, labels}, {});
    CHECK(projected.loss.isnan().item<bool>());
    CHECK(projected.grads.x[1].isnan().all().item<bool>());
    CHECK(projected.grads.x[2].isfinite().all().item<bool>());
}
