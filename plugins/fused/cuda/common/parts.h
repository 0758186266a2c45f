// Gradients of parameters: room for each block's sums, and the launch that adds them up.
#pragma once

#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/sdk/cuda/queue.h>

#include "parts_launch.h"
#include "tensors.h"

namespace switchyard::fused_cuda {

class Parts {
public:
    // Returns the vector's place.
    int add(at::ScalarType type) {
        types_.push_back(type);
        return static_cast<int>(types_.size()) - 1;
    }
    int vectors() const { return static_cast<int>(types_.size()); }
    float* reserve(std::int64_t count, std::int64_t width, at::Device device) {
        count_ = count, width_ = width;
        const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
        parts_ = at::empty({count, vectors(), width}, floats);
        return parts_.mutable_data_ptr<float>();
    }
    // In the order of the places.
    std::vector<at::Tensor> joined(const device::Queue& queue) const {
        std::vector<at::Tensor> made;
        PartsCall call{parts_.const_data_ptr<float>(), count_, width_, vectors()};
        for (std::size_t i = 0; i < types_.size(); ++i) {
            made.push_back(at::zeros({width_}, parts_.options().dtype(types_[i])));
            call.out[i] = made[i].mutable_data_ptr();
            call.type[i] = storage_of(types_[i]);
        }
        if (count_ > 0 && vectors() > 0)
            launch_parts(call, {(width_ + 31) / 32 * vectors(), parts_threads, parts_threads * sizeof(float)},
                         queue.stream);
        return made;
    }

private:
    std::vector<at::ScalarType> types_;
    std::int64_t count_ = 0, width_ = 0;
    at::Tensor parts_;
};

}  // namespace switchyard::fused_cuda
