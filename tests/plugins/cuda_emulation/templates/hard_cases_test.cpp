// Each template's kernel where its numbers or its shapes are hard, against the reference in float64.
#include <limits>
#include <memory>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/conformance/values.h>
#include <switchyard/reference/activation.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/linear.h>
#include <switchyard/reference/loss.h>
#include <switchyard/reference/normalization.h>
#include <switchyard/reference/optimizer.h>

#include <switchyard_test.h>

#include "emulated_templates.h"
#include "grid_emulation.h"

using namespace switchyard;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

at::Tensor bell(std::initializer_list<std::int64_t> sizes, std::uint64_t seed, double spread = 1.0) {
    return (conformance::bell(std::vector<std::int64_t>(sizes), seed) * spread).to(at::kFloat);
}

at::Tensor wide(const at::Tensor& tensor) { return tensor.defined() ? tensor.to(at::kDouble) : tensor; }

bool close(const at::Tensor& found, const at::Tensor& expected, double relative = 1e-5,
           double absolute = 1e-6) {
    return found.sizes() == expected.sizes() && found.scalar_type() == at::kFloat &&
           at::allclose(found.to(at::kDouble), expected.to(at::kDouble), relative, absolute, true);
}

// Both orders of a block's warps.
template <class Body>
void in_both_orders(const Body& body) {
    for (const bool last_first : {false, true}) {
        INFO("last warp first: " << last_first);
        emulation::last_warp_first() = last_first;
        body();
    }
    emulation::last_warp_first() = false;
}

void check_loss(const at::Tensor& logits, const at::Tensor& targets, const LossParams& params) {
    const std::unique_ptr<Loss> loss(my_loss_on_cuda({}));
    const auto expected = reference::loss({wide(logits), {}, {}, targets}, params);
    in_both_orders([&] {
        const auto found = loss->forward({logits, {}, {}, targets}, params, nullptr);
        INFO("loss " << found.loss << ", expected " << expected.loss);
        CHECK(close(found.loss, expected.loss));
        CHECK(found.count.item<std::int64_t>() == expected.count.item<std::int64_t>());
    });
}

// Causal where there are fewer keys than queries; `lengths` of keys may be 0.
void check_attention(std::int64_t queries, std::int64_t keys, std::int64_t head_dim, std::int64_t v_head_dim,
                     double spread, bool causal, const std::vector<std::int32_t>& lengths) {
    INFO(queries << " queries, " << keys << " keys, " << head_dim << " and " << v_head_dim << " wide, spread "
                 << spread << (causal ? ", causal" : ""));
    const auto transposed = [](const at::Tensor& tensor) { return tensor.transpose(1, 2); };
    const at::Tensor q = transposed(bell({2, queries, 4, head_dim}, 1, spread)),
                     k = transposed(bell({2, keys, 2, head_dim}, 2)),
                     v = transposed(bell({2, keys, 2, v_head_dim}, 3));
    AttentionParams params;
    if (causal) params.mask.kinds.insert(MaskKind::causal);
    if (!lengths.empty()) {
        params.mask.kinds.insert(MaskKind::key_lengths);
        params.mask.key_lengths = at::tensor(lengths, at::kInt);
    }
    const std::unique_ptr<Attention> attention(my_attention_on_cuda({}));
    const auto expected = reference::attention({wide(q), wide(k), wide(v), {}, {}}, params);
    in_both_orders([&] {
        const auto found = attention->forward({q, k, v, {}, {}}, params, nullptr);
        // A score has an error of its size times 2^-24 times a few, which the exponential takes over.
        CHECK(close(found.out, expected.out, 1e-5 + 1e-6 * spread, 1e-5 + 1e-6 * spread));
    });
}

}  // namespace

TEST_CASE("a template's cross-entropy withstands large logits, minus infinity and rows that do not count") {
    const std::int64_t classes = GENERATE(2, 31, 255, 256, 257, 1000);
    const auto reduction = GENERATE(Reduction::mean, Reduction::sum, Reduction::none);
    INFO(classes << " classes, reduction " << static_cast<int>(reduction));
    LossParams params;
    params.reduction = reduction;
    for (const std::int64_t rows : {1, 5, 300}) {
        INFO(rows << " rows");
        if (rows == 300 && classes > 31) continue;
        at::Tensor logits = bell({rows, classes}, 11, 1e4);
        at::Tensor targets = conformance::integers({rows}, 0, classes, 12);
        logits.select(1, 0).fill_(-infinity);  // of a class that is no target
        targets.masked_fill_(targets.eq(0), classes - 1);
        check_loss(logits, targets, params);
        params.z_loss = 1e-4, params.divisor = 7.0;
        check_loss(bell({rows, classes}, 13, 3.0), targets, params);
        params.z_loss = 0.0, params.divisor = 0.0;
        targets[rows / 2].fill_(params.ignore_index);
        logits[rows / 2].fill_(not_a_number);
        check_loss(logits, targets, params);
        check_loss(logits, at::full({rows}, params.ignore_index, at::kLong), params);
    }
    check_loss(bell({0, classes}, 14), at::zeros({0}, at::kLong), params);
    const std::unique_ptr<Loss> loss(my_loss_on_cuda({}));
    for (const std::int64_t target : {std::int64_t{-1}, classes, std::int64_t{1} << 40})
        CHECK(
            loss->forward({bell({1, classes}, 15), {}, {}, at::full({1}, target, at::kLong)}, params, nullptr)
                .loss.isnan()
                .all()
                .item<bool>());
}

TEST_CASE("a template's product goes by strides, and over the edges of its tiles") {
    struct Sizes {
        std::int64_t rows, columns, inner;
    };
    const auto [rows, columns, inner] = GENERATE(values<Sizes>({{1, 1, 1},
                                                                {1, 33, 16},
                                                                {17, 1, 15},
                                                                {16, 16, 16},
                                                                {31, 33, 47},
                                                                {5, 3, 200},
                                                                {4, 5, 0},
                                                                {0, 3, 4}}));
    INFO(rows << " x " << columns << ", inner " << inner);
    const std::unique_ptr<Linear> linear(my_linear_on_cuda({}));
    const at::Tensor x = bell({inner, rows}, 21).t(),
                     weight = bell({columns, 2 * inner}, 22).slice(1, 0, {}, 2);
    const at::Tensor bias = bell({columns}, 23), grad = bell({rows, columns}, 24);
    in_both_orders([&] {
        CHECK(close(linear->forward({x}, {{weight}, nullptr}, bias),
                    wide(x).mm(wide(weight).t()) + wide(bias), 1e-5, 1e-5));
        CHECK(close(linear->forward({x}, {{weight}, nullptr}, {}), wide(x).mm(wide(weight).t()), 1e-5, 1e-5));
        CHECK(close(linear->input_gradient({grad}, {{weight}, nullptr}), wide(grad).mm(wide(weight)), 1e-5,
                    1e-5));
        CHECK(close(linear->weight_gradient({grad}, {x}), wide(grad).t().mm(wide(x)), 1e-5, 1e-5));
    });
}

TEST_CASE(
    "a template's optimizer steps as the reference, whatever the size, the rate's factor, the gradient's "
    "size") {
    const auto made = [](at::ScalarType type) {
        std::vector<ParameterGroup> groups(2);
        groups[0].hyper.weight_decay = 0.1;
        groups[1].hyper.lr = 0.05, groups[1].hyper.beta2 = 0.95;
        std::uint64_t number = 0;
        for (const std::int64_t size : {0, 1, 255, 257, 1000}) {
            Parameter parameter;
            parameter.name = "p" + std::to_string(size);
            parameter.value = bell({size}, 31 + number).to(type);
            groups[number++ % 2].parameters.push_back(parameter);
        }
        return groups;
    };
    auto found = made(at::kFloat), expected = made(at::kDouble);
    const std::unique_ptr<Optimizer> optimizer(my_optimizer_on_cuda({}));
    reference::OptimizerSteps steps(OptimizerKind::adamw);
    optimizer->bind(found);
    steps.bind(expected);
    StepParams params;
    for (std::uint64_t step = 0; step < 4; ++step) {
        if (step == 2) params.lr_factor_tensor = at::full({}, 0.25, at::kFloat);
        for (std::size_t g = 0; g < found.size(); ++g) {
            for (std::size_t i = 0; i < found[g].parameters.size(); ++i) {
                auto& parameter = found[g].parameters[i];
                const bool none = step == 1 && i == 0;  // of which nothing changes
                const double spread = step == 3 ? 1e4 : 1e-3;
                parameter.gradient =
                    none ? at::Tensor() : bell({parameter.value.numel()}, 41 + step * 10 + i, spread);
                expected[g].parameters[i].gradient = wide(parameter.gradient);
            }
        }
        const auto result = optimizer->step(found, params);
        CHECK_FALSE((result.grad_norm.defined() || result.found_inf.defined()));
        steps.step(expected, params);
        for (std::size_t g = 0; g < found.size(); ++g) {
            for (std::size_t i = 0; i < found[g].parameters.size(); ++i) {
                INFO("step " << step << ", " << found[g].parameters[i].name);
                CHECK(close(found[g].parameters[i].value, expected[g].parameters[i].value, 2e-6, 2e-6));
            }
        }
    }
    const auto state = optimizer->state();
    CHECK(state.step == 4);
    CHECK(state.entries.size() == 10);
}

TEST_CASE("a template's attention withstands large scores, and queries that see no key") {
    check_attention(1, 1, 1, 1, 1.0, false, {});
    check_attention(3, 127, 64, 40, 1.0, true, {});
    check_attention(3, 128, 128, 128, 1.0, false, {128, 1});
    check_attention(2, 300, 33, 65, 1e3, false, {300, 129});  // scores of 1e4
    check_attention(9, 5, 16, 16, 1.0, true, {});             // the first four see nothing
    check_attention(9, 5, 16, 16, 1.0, true, {5, 0});
    check_attention(4, 260, 16, 24, 1.0, true, {0, 258});
    check_attention(0, 5, 16, 16, 1.0, false, {});
    check_attention(3, 0, 16, 16, 1.0, false, {});
    check_attention(140, 140, 8, 8, 3.0, true, {});
}

TEST_CASE("a template's normalization and activation keep what is large, and NaN") {
    const std::unique_ptr<Normalization> norm(my_normalization_on_cuda({}));
    for (const auto kind : {NormKind::layer_norm, NormKind::rms_norm}) {
        for (const std::int64_t width : {1, 31, 255, 257, 600}) {
            INFO(width << " wide, " << name(kind));
            NormalizationInputs inputs;
            inputs.x = bell({3, width}, 51, 1e4);
            inputs.weight = bell({width}, 52);
            if (kind == NormKind::layer_norm) inputs.beta = bell({width}, 53);
            NormalizationParams params;
            params.norm = kind;
            NormalizationInputs double_inputs = inputs;
            for (at::Tensor* one : {&double_inputs.x, &double_inputs.weight, &double_inputs.beta})
                *one = wide(*one);
            const auto expected = reference::normalization(double_inputs, params).y;
            in_both_orders(
                [&] { CHECK(close(norm->forward(inputs, params, nullptr).y, expected, 1e-5, 1e-5)); });
        }
    }
    const std::unique_ptr<Activation> activation(my_activation_on_cuda({}));
    for (const auto kind : {ActivationKind::relu, ActivationKind::silu}) {
        ActivationInputs inputs;
        inputs.x = bell({5, 123}, 54, 1e4);
        inputs.x[0][0].fill_(not_a_number);
        ActivationInputs double_inputs;
        double_inputs.x = wide(inputs.x);
        ActivationParams params;
        params.activation = kind;
        CHECK(close(activation->forward(inputs, params, nullptr),
                    reference::activation(double_inputs, params)));
    }
}
