// What the host calls to start the kernels of a step with 8-bit moments.
#pragma once

#include <switchyard/sdk/cuda/device_optimizer_table.h>

namespace switchyard::optim8bit_cuda {

enum class Rule : std::uint8_t { adamw_codes, lion_codes, adamw_floats, lion_floats };

constexpr int values_of_block = 256;

// One code book, and how codes are found in it (dynamic_codes.h): the CPU's own tables.
struct BookOnDevice {
    float code[256];
    float threshold[16], slope[16], offset[16], last[16];
    std::int32_t below[16];
};
struct Books {
    BookOnDevice first, second;
};

struct Codes {
    const Books* books = nullptr;  // on the device
    bool by_chance = false;        // stochastic rounding
    std::uint64_t seed = 0;
};

// The books, a warp's numbers, and 256 bytes for sums.
constexpr std::size_t step_shared_bytes =
    256 + sizeof(Books) + device::optimizer_threads * 8 * sizeof(std::uint32_t);

void launch_norm(const device::NormCall& call, const device::Launch& geometry, void* stream);
void launch_step(const device::StepCall& call, const Codes& codes, const device::Launch& geometry,
                 void* stream);

}  // namespace switchyard::optim8bit_cuda
