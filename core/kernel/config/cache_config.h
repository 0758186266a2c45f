// The section [cache]: where a model that generates keeps keys and values of earlier tokens.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// contiguous: each row has memory of its own, for its longest;  paged: rows take pages from a pool as they
// grow, and rows that begin alike share them.
enum class CacheKind : std::uint8_t { contiguous, paged };

struct CacheConfig {
    CacheKind kind = CacheKind::contiguous;
    std::optional<DType> dtype;    // float32, bfloat16, float16 or int8; empty: as attention has them
    std::int64_t page_size = 64;   // tokens
    std::int64_t step_tokens = 1;  // most new tokens of a row in one call
    bool cuda_graph = false;       // decoding steps captured into CUDA graphs
    bool operator==(const CacheConfig&) const = default;
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<config::CacheKind>{"contiguous", "paged"};
}  // namespace switchyard
