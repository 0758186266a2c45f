// What conformance does not see of torch's policies: when bf16 casts a weight. To add a case: what happens
// between two calls of `linear`, and whether the second sees the weight as it is then.
#include "builtin.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/precision.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Layer {
    at::Tensor x = at::randn({3, 8});
    at::Tensor weight = at::randn({5, 8}).set_requires_grad(true);
    at::Tensor bias = at::randn({5}).set_requires_grad(true);

    at::Tensor in_bfloat16() const {
        return at::linear(x.to(at::kBFloat16), weight.to(at::kBFloat16), bias.to(at::kBFloat16));
    }
};

at::Tensor call(const test::Made<Precision>& policy, const Layer& layer) {
    return policy->linear({layer.x, layer.weight, layer.bias}, {}, nullptr);
}

// Writes past LibTorch's version counter, as an optimizer's kernel may.
void overwrite(const at::Tensor& weight) {
    auto* value = static_cast<float*>(weight.unsafeGetTensorImpl()->mutable_data());
    for (std::int64_t i = 0; i < weight.numel(); ++i) value[i] += 1.0F;
}

}  // namespace

TEST_CASE("bf16 computes what autocast computes, and its gradients are float32") {
    const PrecisionRequest request;
    const auto policy = test::make<Precision>("torch", "bf16", request);
    const Layer layer;
    const auto y = call(policy, layer);
    CHECK(y.scalar_type() == at::kBFloat16);
    CHECK(y.equal(layer.in_bfloat16()));
    y.sum().backward();
    CHECK(layer.weight.grad().scalar_type() == at::kFloat);
    CHECK(layer.bias.grad().scalar_type() == at::kFloat);
}

TEST_CASE("bf16 keeps a cast through the micro-batches of a step, each with its own backward") {
    const PrecisionRequest request;
    const auto policy = test::make<Precision>("torch", "bf16", request);
    const Layer layer;
    policy->begin_step();
    for (int micro_batch = 1; micro_batch <= 3; ++micro_batch) {
        call(policy, layer).sum().backward();
        CHECK(layer.bias.grad().equal(at::full_like(layer.bias, 3.0 * micro_batch)));
    }
    policy->end_step();
}

TEST_CASE("bf16 casts again after an in-place change, after a step, and for a gradient after none") {
    const PrecisionRequest request;
    const auto policy = test::make<Precision>("torch", "bf16", request);
    const Layer layer;
    call(policy, layer);
    {
        const at::NoGradGuard no_grad;
        layer.weight.add_(1.0);
    }
    CHECK(call(policy, layer).equal(layer.in_bfloat16()));
    overwrite(layer.weight);
    policy->end_step();
    CHECK(call(policy, layer).equal(layer.in_bfloat16()));
    overwrite(layer.weight);
    policy->begin_step();
    {
        const at::NoGradGuard no_grad;
        CHECK(call(policy, layer).equal(layer.in_bfloat16()));
    }
    call(policy, layer).sum().backward();
    CHECK(layer.weight.grad().defined());
}

TEST_CASE("the policies say what runs in what") {
    const PrecisionRequest request;
    const auto low = test::make<Precision>("torch", "bf16", request);
    for (const auto op : {OpClass::linear, OpClass::attention, OpClass::activation})
        CHECK(low->compute(op, "any") == DType::bfloat16);
    for (const auto op : {OpClass::normalization, OpClass::loss, OpClass::embedding, OpClass::residual}) {
        CHECK(low->compute(op, "any") == DType::float32);
    }
    const auto full = test::make<Precision>("torch", "fp32", request);
    const auto plain = test::make<Precision>("naive", "reference", request);
    for (int op = 0; op <= static_cast<int>(OpClass::residual); ++op) {
        CHECK(low->storage(static_cast<OpClass>(op), "any") == DType::float32);
        CHECK(full->compute(static_cast<OpClass>(op), "any") == DType::float32);
        CHECK(plain->compute(static_cast<OpClass>(op), "any") == DType::float32);
    }
}
