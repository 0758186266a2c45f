// What a shadow found: a line for each slot and group of layers that has one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/train/shadow/drift.h"

namespace switchyard::train {

// The drift of the outputs, or of the gradients, over calls.
struct CallDrifts {
    std::vector<double> means;  // of each call that was compared, as Drift::mean
    double largest = 0.0;       // of all, and where that was
    std::int64_t step = 0;
    std::string layer, tensor;

    void add(const Drift& drift, std::int64_t of_step, const std::string& of_layer);
    void add(const CallDrifts& later);
};

struct ShadowFaults {
    std::int64_t calls = 0;  // in which there was one
    std::string first;       // in words, with where it was
    std::int64_t step = 0;
    std::string layer;

    void add(const std::string& text, std::int64_t of_step, const std::string& of_layer);
    void add(const ShadowFaults& later);
};

struct ShadowLine {
    std::string slot, layers;
    std::string trusted, candidate;  // "torch/torch@flash"
    std::int64_t every = 1;
    // A component that draws its dropout from LibTorch's generator drops other values than the other one:
    // both were called without.
    bool without_dropout = false;

    std::int64_t steps = 0;  // in which calls were compared
    std::int64_t calls = 0;  // that were run a second time, those with a fault included
    ShadowFaults faults;
    CallDrifts outputs, gradients;
    // Forward and backward of each call without a fault, in the same order.
    std::vector<double> trusted_ms, candidate_ms;
    std::vector<double> ratios() const;  // candidate over trusted

    // What a later step found in the same slot.
    void add(const ShadowLine& later);
};

using ShadowLines = std::vector<ShadowLine>;

// Those of several steps put together, in the order in which slots first came.
void add_lines(ShadowLines& all, const ShadowLines& later);

}  // namespace switchyard::train
