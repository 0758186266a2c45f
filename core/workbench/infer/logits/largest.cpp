#include "core/workbench/infer/logits/largest.h"

#include <algorithm>

namespace switchyard::infer {
namespace {

struct Entry {
    float value;
    std::int64_t index;
    bool operator<(const Entry& other) const {  // comes before it
        return value != other.value ? value > other.value : index < other.index;
    }
};

// A heap of the `count` first in order: most values are turned away by one comparison with its last.
std::vector<Entry> first_of(std::span<const float> values, std::size_t count) {
    std::vector<Entry> heap;
    heap.reserve(count);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Entry entry{values[i], static_cast<std::int64_t>(i)};
        if (heap.size() < count) {
            if (entry.value == never) continue;
            heap.push_back(entry);
            if (heap.size() == count) std::make_heap(heap.begin(), heap.end());
        } else if (entry.value > heap.front().value) {
            std::pop_heap(heap.begin(), heap.end());
            heap.back() = entry;
            std::push_heap(heap.begin(), heap.end());
        }
    }
    return heap;
}

// Where nearly all are asked for.
std::vector<Entry> selected_of(std::span<const float> values, std::size_t count) {
    std::vector<Entry> all;
    all.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != never) all.push_back({values[i], static_cast<std::int64_t>(i)});
    }
    if (count < all.size()) {
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
        all.resize(count);
    }
    return all;
}

}  // namespace

std::vector<std::int64_t> largest(std::span<const float> values, std::size_t count) {
    if (count == 0) return {};
    constexpr std::size_t few = 16;  // a heap of a sixteenth is seldom touched
    auto entries = count <= values.size() / few ? first_of(values, count) : selected_of(values, count);
    std::sort(entries.begin(), entries.end());
    std::vector<std::int64_t> indices;
    indices.reserve(entries.size());
    for (const auto& entry : entries) indices.push_back(entry.index);
    return indices;
}

std::int64_t index_of_largest(std::span<const float> values) {
    float best = never;
    std::int64_t index = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] <= best) continue;
        best = values[i];
        index = static_cast<std::int64_t>(i);
    }
    return index;
}

}  // namespace switchyard::infer
