// Activation checkpointing: a part of a model keeps its inputs only, and runs again when backward needs what
// is inside (Chen et al. 2016, arXiv:1604.06174).
//
// The second run sees what the first saw: the same inputs, LibTorch's generators where they stood. Gradients
// are the bits that autograd would have given without:
// an input that several places inside use is to be given once for each of them, in the order in which
// autograd would reach them (the last used first), and parameters get their sums where autograd forms them,
// outside.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>

namespace switchyard::runtime {

struct Segment {
    // The outputs that have a gradient, from the inputs. Called in forward, and once more in each backward;
    // must not depend on anything that changes in between.
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)> run;
    // Told true before the second run and false after it, on whichever thread autograd uses. May be empty.
    std::function<void(bool)> recomputing;
    Device device = Device::cpu;
};

// As segment.run(inputs), with what backward needs forgotten. `parameters` are all leaves that it uses.
// Inputs may be undefined. Without grad mode: just runs.
// A second derivative is an error.
std::vector<at::Tensor> run_recomputed(const Segment& segment, const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& parameters);

}  // namespace switchyard::runtime
