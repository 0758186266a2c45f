// Which tensors' memory is live when, over one step, and what it is for.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

enum class MemoryClass : std::uint8_t {
    parameters,
    masters,  // float32 copies that the optimizer steps
    optimizer_state,
    gradients,     // of parameters, from when they are made
    activations,   // made in forward and there until backward
    weight_forms,  // casts and packed forms of weights, made in forward and kept to the end of the step
    batches,       // of the step
    temporaries,   // gone when the operation, or the pass, is
    other          // what was there before the step and is none of these
};
inline constexpr std::array<std::string_view, 9> memory_class_names{
    "parameters",   "masters", "optimizer_state", "gradients", "activations",
    "weight_forms", "batches", "temporaries",     "other"};
inline constexpr std::size_t memory_classes = memory_class_names.size();

struct MemoryEvent {
    std::int64_t at = 0;  // nanoseconds, the clock of the recording
    std::uint64_t address = 0;
    std::int64_t bytes = 0;   // negative: given back
    std::int64_t live = 0;    // of all tensors, after it
    std::int32_t event = -1;  // of the recording, in which it happened
};

// Of one step, in order.
struct MemoryRecording {
    std::vector<MemoryEvent> events;
    std::int64_t live_before = 0;
    // Bytes of what was there before the step, by address.
    std::vector<std::pair<std::uint64_t, std::pair<MemoryClass, std::int64_t>>> known;
    std::unordered_set<std::uint64_t> gradients;  // addresses when backward has ended
    std::size_t at_gradients = 0;                 // events by then
};

using Parts = std::array<std::int64_t, memory_classes>;  // bytes by class

struct MemoryPoint {
    double ms = 0.0;
    Parts parts{};
    std::int64_t total() const { return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); }
};

struct MemoryProfile {
    MemoryPoint peak;
    std::vector<std::pair<std::string, std::int64_t>>
        layers;                     // of activations, when they are most, in forward order
    std::vector<MemoryPoint> line;  // in order of time, the highest of each stretch, and the end
    double step_ms = 0.0;
    std::size_t allocations = 0;
};

// `points`: how many there are at most, of stretches that are equally long.
MemoryProfile memory_profile(const Recording& recording, const MemoryRecording& memory,
                             std::size_t points = 400);

}  // namespace switchyard::profile
