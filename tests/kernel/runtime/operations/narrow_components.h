// Components for tests of the operations: each computes what the reference computes, refuses what it is said
// not to serve, and has one of the gradient modes. In mode kernel its backward differentiates the reference
// on what it saved.
#pragma once

#include <stdexcept>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/reference/activation.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/loss.h>
#include <switchyard/reference/normalization.h>

namespace switchyard::test {

// Gradients of `outputs(inputs)` for the inputs that need one, the others undefined.
template <class Outputs>
std::vector<at::Tensor> differentiate(const Saved& saved, std::size_t count, const std::vector<bool>& needs,
                                      const std::vector<at::Tensor>& grads, const Outputs& outputs) {
    const c10::AutoGradMode with_grad(true);
    std::vector<at::Tensor> inputs, leaves;
    for (std::size_t i = 0; i < count; ++i) {
        inputs.push_back(saved[i].defined() ? saved[i].detach() : at::Tensor());
        if (needs[i]) leaves.push_back(inputs.back().requires_grad_());
    }
    std::vector<at::Tensor> roots, root_grads;
    const std::vector<at::Tensor> made = outputs(inputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (!grads[i].defined()) continue;
        roots.push_back(made[i]);
        root_grads.push_back(grads[i]);
    }
    const auto leaf_grads = torch::autograd::grad(roots, leaves, root_grads);
    std::vector<at::Tensor> result(count);
    for (std::size_t i = 0, next = 0; i < count; ++i) {
        if (needs[i]) result[i] = leaf_grads[next++];
    }
    return result;
}

inline void save_inputs(Saved* saved, std::initializer_list<at::Tensor> inputs) {
    if (saved == nullptr) return;
    for (const at::Tensor& input : inputs) saved->input(input);
}

class TestAttention final : public Attention {
public:
    using Attention::Attention;

    AttentionOutputs forward(const AttentionInputs& in, const AttentionParams& params,
                             Saved* saved) override {
        executed("test");
        save_inputs(saved, {in.q, in.k, in.v, in.relative_bias, in.dense_bias});
        return reference::attention(in, params);
    }
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& n) override {
        const auto g = differentiate(
            saved, 5, {n.q, n.k, n.v, n.relative_bias, n.dense_bias}, {grad_out}, [&](const auto& i) {
                return std::vector<at::Tensor>{
                    reference::attention({i[0], i[1], i[2], i[3], i[4]}, params).out};
            });
        return {g[0], g[1], g[2], g[3], g[4]};
    }
};

// Serves the parts of the wide form that its request has.
class TestNormalization final : public Normalization {
public:
    explicit TestNormalization(const CreateInfo& info)
        : Normalization(info), request_(*static_cast<const NormalizationRequest*>(info.request)) {}

    NormalizationOutputs forward(const NormalizationInputs& in, const NormalizationParams& params,
                                 Saved* saved) override {
        executed("test");
        if (in.bias.defined() && !request_.input_bias) throw std::logic_error("got a bias");
        if (in.residual.defined() && !request_.residual) throw std::logic_error("got a residual");
        if (params.dropout.active() && request_.dropout == 0.0) throw std::logic_error("got dropout");
        save_inputs(saved, {in.x, in.bias, in.residual, in.weight, in.beta});
        return reference::normalization(in, params);
    }
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& n) override {
        if (!grad_y.defined()) throw std::logic_error("got no grad_y");
        const auto g = differentiate(
            saved, 5, {n.x, n.bias, n.residual, n.weight, n.beta}, {grad_y, grad_sum}, [&](const auto& i) {
                const auto made = reference::normalization({i[0], i[1], i[2], i[3], i[4]}, params);
                return std::vector<at::Tensor>{made.y, made.sum};
            });
        return {g[0], g[1], g[2], g[3], g[4]};
    }

private:
    NormalizationRequest request_;
};

class TestActivation final : public Activation {
public:
    explicit TestActivation(const CreateInfo& info)
        : Activation(info), request_(*static_cast<const ActivationRequest*>(info.request)) {}

    at::Tensor forward(const ActivationInputs& in, const ActivationParams& params, Saved* saved) override {
        executed("test");
        if (in.bias.defined() && !request_.input_bias) throw std::logic_error("got a bias");
        if (params.dropout.active() && request_.dropout == 0.0) throw std::logic_error("got dropout");
        save_inputs(saved, {in.x, in.bias});
        return reference::activation(in, params);
    }
    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& n) override {
        const auto g = differentiate(saved, 2, {n.x, n.bias}, {grad_y}, [&](const auto& i) {
            return std::vector<at::Tensor>{reference::activation({i[0], i[1]}, params)};
        });
        return {g[0], g[1]};
    }

private:
    ActivationRequest request_;
};

class TestLoss final : public Loss {
public:
    explicit TestLoss(const CreateInfo& info)
        : Loss(info), request_(*static_cast<const LossRequest*>(info.request)) {}

    LossOutputs forward(const LossInputs& in, const LossParams& params, Saved* saved) override {
        executed("test");
        if (in.weight.defined() && !request_.projection) throw std::logic_error("got a projection");
        save_inputs(saved, {in.x, in.weight, in.bias, in.targets});
        return reference::loss(in, params);
    }
    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& n) override {
        const auto g =
            differentiate(saved, 4, {n.x, n.weight, n.bias, false}, {grad_loss}, [&](const auto& i) {
                return std::vector<at::Tensor>{reference::loss({i[0], i[1], i[2], i[3]}, params).loss};
            });
        if (!params.may_overwrite_logits || saved[1].defined()) return {g[0], g[1], g[2]};
        const at::Tensor place = saved[0].detach();
        place.copy_(g[0]);
        return {place, {}, {}};
    }

private:
    LossRequest request_;
};

}  // namespace switchyard::test
