#include "core/workbench/model/parameter_cut.h"

#include <ATen/ops/cat.h>

namespace switchyard::model {

at::Tensor ParameterCut::own(const at::Tensor& all) const {
    if (whole()) return all;
    const auto block = all.size(dim) / blocks, size = block / part.parts;
    std::vector<at::Tensor> own;
    for (std::int64_t i = 0; i < blocks; ++i)
        own.push_back(all.narrow(dim, i * block + part.index * size, size));
    return own.size() == 1 ? own.front() : at::cat(own, dim);
}

at::Tensor ParameterCut::joined(const std::vector<at::Tensor>& parts) const {
    if (whole()) return parts.front();
    std::vector<at::Tensor> pieces;
    for (std::int64_t i = 0; i < blocks; ++i) {
        for (const auto& one : parts) {
            const auto size = one.size(dim) / blocks;
            pieces.push_back(one.narrow(dim, i * size, size));
        }
    }
    return at::cat(pieces, dim);
}

std::vector<std::int64_t> ParameterCut::own_sizes(std::vector<std::int64_t> sizes) const {
    if (!whole()) sizes[static_cast<std::size_t>(dim)] /= part.parts;
    return sizes;
}

std::vector<std::int64_t> ParameterCut::whole_sizes(std::vector<std::int64_t> sizes) const {
    if (!whole()) sizes[static_cast<std::size_t>(dim)] *= part.parts;
    return sizes;
}

}  // namespace switchyard::model
