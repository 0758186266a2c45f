// CPU memory of tensors: one allocator for all of LibTorch, chosen by `[runtime] allocator`, the same for
// every backend.
//
//   caching  freed blocks are kept by size class (classes lie an eighth of a power of two apart, so at
//   most 12.5 % are unused) and handed out
//            again without page faults; blocks of 2 MB and more stand on huge pages of their own. What is
//            kept in excess is given back.
//   malloc   every block from the C library and back to it, as LibTorch's own allocator does.
//
// Both count the bytes that tensors asked for. Data is aligned to 64 bytes, large blocks to 2 MB. A header
// before the data says what a block is, so memory that one kind handed out may be freed while the other one
// is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernel/config/run_config.h"

namespace switchyard::machine {

struct MemoryStats {
    std::int64_t live_bytes = 0;          // asked for and not freed
    std::int64_t peak_bytes = 0;          // the most of it since the last reset
    std::int64_t cached_bytes = 0;        // freed, kept for reuse
    std::int64_t allocations = 0;         // since the start
    std::int64_t system_allocations = 0;  // of them not served from the cache
};

// Before any other thread allocates; may be called again to change the kind. Tensors made before stay as they
// are.
void install_cpu_allocator(config::Allocator kind);

MemoryStats cpu_memory_stats();

// peak_bytes = live_bytes
void reset_cpu_peak();

// Gives all cached blocks back to the system. Returns how many bytes that were.
std::int64_t trim_cpu_cache();

}  // namespace switchyard::machine
