// Which linear layers are multiplied in float8, and which are left in bfloat16. Pure functions of names and
// sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/precision.h>

namespace switchyard::fp8 {

struct Keep {
    std::vector<std::string> patterns;  // as `keep` of amp/bf16
    std::int64_t first = 1;             // layers at the begin of a stack
    std::int64_t last =
        1;  // layers at its end; with them all that stands outside of the stacks (heads, poolers)
};

// 3 of "encoder.3.attention.q"; nothing of what is not within a layer.
std::optional<std::int64_t> layer_of(std::string_view name);

bool is_kept(const Keep& keep, const LinearSite& site);

// What is known of it by its name alone, without the number of layers.
bool is_kept(const Keep& keep, std::string_view name);

// Multiply-adds of one product for each value that has to be cast: rows in out / (rows in + rows out + in
// out).
double intensity(std::int64_t rows, std::int64_t in, std::int64_t out);

}  // namespace switchyard::fp8
