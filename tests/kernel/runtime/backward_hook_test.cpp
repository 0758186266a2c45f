// When backward calls. To add a case: build a part of a graph between two hooks, and say what has a gradient
// as each is called.
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/kernel/runtime/backward_hook.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::with_backward_hook;

namespace {

at::Tensor square_leaf() { return at::rand({4, 4}, at::kDouble).requires_grad_(); }

// A part with two outputs, one of which takes a way around, that reads a second tensor from outside.
struct Part {
    at::Tensor first = square_leaf(), side = square_leaf(), last = square_leaf();

    std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& x, const at::Tensor& memory) const {
        const auto projected = at::mm(x[0], first);
        const auto remembered = at::mm(memory, side);
        const auto mixed = projected * remembered + x[1];
        return {mixed, at::mm(mixed * mixed, last)};
    }
    std::vector<bool> have_gradients() const {
        return {first.grad().defined(), side.grad().defined(), last.grad().defined()};
    }
};

}  // namespace

TEST_CASE("backward calls the hook of outputs before all of a part, and that of inputs behind it") {
    const auto before = square_leaf(), memory = square_leaf();
    const std::vector<Part> parts(3);
    std::vector<std::string> calls;
    const auto run = [&](bool with_hooks) {
        std::vector<at::Tensor> x{before * 2.0, before * 3.0};
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& part = parts[i];
            const auto behind = [&, i] {
                calls.push_back("behind " + std::to_string(i));
                CHECK(parts[i].have_gradients() == std::vector{true, true, true});
                CHECK_FALSE(before.grad().defined());
                if (i > 0) CHECK(parts[i - 1].have_gradients() == std::vector{false, false, false});
            };
            const auto ahead = [&, i] {
                calls.push_back("ahead " + std::to_string(i));
                CHECK(parts[i].have_gradients() == std::vector{false, false, false});
            };
            if (with_hooks) x = with_backward_hook(x, behind);
            x = part(x, memory);
            if (with_hooks) x = with_backward_hook(x, ahead);
        }
        torch::autograd::backward({x[0].sum() + x[1].sum()}, {});
        std::vector<at::Tensor> gradients;
        for (const auto* leaf : {&before, &memory, &parts[0].first, &parts[1].side, &parts[2].last})
            gradients.push_back(leaf->grad());
        for (const auto& part : parts)
            for (const auto* leaf : {&part.first, &part.side, &part.last}) leaf->mutable_grad().reset();
        before.mutable_grad().reset();
        memory.mutable_grad().reset();
        return gradients;
    };
    const auto followed = run(true);
    CHECK(calls ==
          std::vector<std::string>{"ahead 2", "behind 2", "ahead 1", "behind 1", "ahead 0", "behind 0"});
    const auto plain = run(false);
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(followed[i], plain[i]));
}

TEST_CASE("tensors that no gradient reaches come back as they are, without a call") {
    const auto fail = [] { FAIL("the hook was called"); };
    const auto constant = at::rand({4, 4}, at::kDouble);
    CHECK(with_backward_hook({constant, {}}, fail)[0].is_same(constant));
    CHECK_FALSE(with_backward_hook({constant, {}}, fail)[1].defined());
    const auto leaf = square_leaf();
    const c10::AutoGradMode off(false);
    CHECK(with_backward_hook({leaf}, fail)[0].is_same(leaf));
}

TEST_CASE("what a hook throws ends backward") {
    const auto leaf = square_leaf();
    const auto followed = with_backward_hook({leaf * 2.0}, [] { throw std::runtime_error("it is gone"); });
    CHECK_THROWS_WITH(torch::autograd::backward({followed[0].sum()}, {}), "it is gone");
    CHECK_FALSE(leaf.grad().defined());
}
