#include "kernels.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace switchyard::flash_cuda {
namespace {

// Calls body with the head size as a constant.
template <class Body>
void with_dim(int dim, const Body& body) {
    switch (dim) {
        case 64:
            return body(std::integral_constant<int, 64>{});
        case 128:
            return body(std::integral_constant<int, 128>{});
        case 256:
            return body(std::integral_constant<int, 256>{});
        default:
            throw std::invalid_argument(
                "flash attention on cuda: head_dim and v_head_dim must be at most 256");
    }
}

// A grid has at most 2^31 - 1 blocks (CUDA C++ Programming Guide, technical specifications).
const Launch& checked(const Launch& launch) {
    if (launch.blocks > std::numeric_limits<std::int32_t>::max()) {
        throw std::invalid_argument("flash attention on cuda: the call needs " +
                                    std::to_string(launch.blocks) +
                                    " blocks, a launch has at most 2147483647: split the batch");
    }
    return launch;
}

}  // namespace

void forward_pass(Storage storage, const Params& params, const Shape& shape, void* stream) {
    const Launch launch = checked(forward_launch(shape, has_terms(params)));
    with_dim(shape.dim, [&](auto dim) { launch_forward<dim>(storage, params, launch, stream); });
}

void backward_pass(Storage storage, const Params& params, const Shape& shape, void* stream) {
    launch_delta(storage, params, checked(delta_launch(shape, params.v_head_dim)), stream);
    const bool distances = params.distance_gradient != nullptr;
    with_dim(shape.dim, [&](auto dim) {
        if (params.dq.data != nullptr || distances || params.dense_gradient != nullptr)
            launch_query_pass<dim>(storage, params, checked(query_pass_launch(shape, distances)), stream);
        if (params.dk.data != nullptr || params.dv.data != nullptr)
            launch_key_pass<dim>(storage, params, checked(key_pass_launch(shape)), stream);
    });
}

void decode(Storage storage, const Params& params, const Shape& shape, void* stream) {
    const Launch launch = checked(decode_launch(shape, params.splits));
    with_dim(shape.dim, [&](auto dim) { launch_decode<dim>(storage, params, launch, stream); });
    if (params.splits > 1)
        launch_combine(storage, params, checked(combine_launch(shape, params.v_head_dim)), stream);
}

}  // namespace switchyard::flash_cuda
