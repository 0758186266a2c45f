// How a parameter is cut where ranks have a part of each layer (Shoeybi et al. 2019, arXiv:1909.08053): along
// its rows, so that each rank makes some of the columns of what a linear layer gives, or along its columns,
// so that each takes some of the columns of what comes in.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/distributed_config.h"

namespace switchyard::model {

struct ParameterCut {
    config::LayerPart part;   // this process's
    std::int64_t dim = 0;     // that is cut
    std::int64_t blocks = 1;  // of that dimension, each of which is cut: gate and value of a feed-forward

    bool whole() const { return part.whole(); }
    // This process's part, which shares memory with the whole where it can.
    at::Tensor own(const at::Tensor& all) const;
    // The parts of all, in their order, as one.
    at::Tensor joined(const std::vector<at::Tensor>& parts) const;
    // From sizes of the whole to those of a part, and back.
    std::vector<std::int64_t> own_sizes(std::vector<std::int64_t> sizes) const;
    std::vector<std::int64_t> whole_sizes(std::vector<std::int64_t> sizes) const;
};

}  // namespace switchyard::model
