// What a component of GradientMode::kernel keeps between forward and backward.
//
// The core owns the autograd node. It passes an empty Saved to forward when a gradient will be needed (else
// nullptr), stores its tensors through autograd's saved variables (so that an in-place change in between is
// an error, and hooks can offload them), and hands the same Saved back to backward, on whichever thread
// autograd uses, at most once per graph. A second derivative is an error.
//
// Each tensor says what it is, so that none is kept alive twice: `input` must be one of forward's input
// tensors, `output` one of the tensors it returns, `extra` anything else (a log-sum-exp, a row's mean).
// Undefined tensors may be saved and come back undefined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard {

enum class SavedRole : std::uint8_t { input, output, extra };

struct Saved {
    struct Entry {
        at::Tensor tensor;
        SavedRole role;
    };
    std::vector<Entry> tensors;
    std::vector<std::int64_t> integers;

    void input(const at::Tensor& tensor) { tensors.push_back({tensor, SavedRole::input}); }
    void output(const at::Tensor& tensor) { tensors.push_back({tensor, SavedRole::output}); }
    void extra(at::Tensor tensor) { tensors.push_back({std::move(tensor), SavedRole::extra}); }

    // In the order in which they were saved; throws std::out_of_range.
    const at::Tensor& operator[](std::size_t index) const { return tensors.at(index).tensor; }
};

}  // namespace switchyard
