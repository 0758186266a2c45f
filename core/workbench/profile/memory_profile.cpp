#include "core/workbench/profile/memory_profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/workbench/profile/attribution.h"

namespace switchyard::profile {
namespace {

struct Block {
    std::int64_t bytes = 0;
    std::size_t made = 0;                // its event
    std::optional<std::size_t> ended{};  // nothing: it outlives the step
    MemoryClass is = MemoryClass::temporaries;
    std::string layer{};
};

// The pass and layer in which an event of memory happened.
struct Where {
    Pass pass = Pass::none;
    std::string layer;
};

class Sorting {
public:
    Sorting(const Recording& recording, const MemoryRecording& memory)
        : memory_(memory), owners_(owners_of(recording)) {
        for (const auto& [address, what] : memory.known) {
            const auto& [is, bytes] = what;
            if (!before_.emplace(address, blocks_.size()).second) continue;
            blocks_.push_back({bytes, 0, {}, is});
        }
    }

    // How many were there before.
    std::size_t known() const { return before_.size(); }
    // All blocks; those that were there before are the first.
    std::vector<Block> blocks() {
        auto live = before_;
        for (std::size_t i = 0; i < memory_.events.size(); ++i) {
            const auto& event = memory_.events[i];
            if (event.bytes > 0) {
                live[event.address] = blocks_.size();
                blocks_.push_back({event.bytes, i});
                is_gradient_.push_back(false);
            } else if (const auto found = live.find(event.address); found != live.end()) {
                blocks_[found->second].ended = i;
                live.erase(found);
            }
            if (i + 1 == memory_.at_gradients) note_gradients(live);
        }
        for (std::size_t i = before_.size(); i < blocks_.size(); ++i) sort(blocks_[i], i);
        return std::move(blocks_);
    }

private:
    void note_gradients(const std::unordered_map<std::uint64_t, std::size_t>& live) {
        for (const auto address : memory_.gradients) {
            const auto found = live.find(address);
            if (found != live.end() && found->second >= before_.size())
                is_gradient_[found->second - before_.size()] = true;
        }
    }

    Where where(std::size_t event) const {
        const auto at = memory_.events[event].event;
        if (at < 0) return {};
        const auto& owner = owners_[static_cast<std::size_t>(at)];
        return {owner.pass, owner.layer};
    }

    void sort(Block& block, std::size_t index) const {
        const auto made = where(block.made);
        block.layer = made.layer;
        block.is = MemoryClass::temporaries;
        if (is_gradient_[index - before_.size()]) {
            block.is = MemoryClass::gradients;
        } else if (made.pass == Pass::data) {
            block.is = MemoryClass::batches;
        } else if (made.pass == Pass::update && !block.ended) {
            block.is = MemoryClass::optimizer_state;
        } else if (made.pass == Pass::forward || made.pass == Pass::again) {
            const bool kept = !block.ended || *block.ended >= memory_.at_gradients;
            if (kept)
                block.is = MemoryClass::weight_forms;
            else if (where(*block.ended).pass != made.pass)
                block.is = MemoryClass::activations;
        }
    }

    const MemoryRecording& memory_;
    std::vector<Owner> owners_;
    std::vector<Block> blocks_;
    std::vector<bool> is_gradient_;  // of those that came in the step
    std::unordered_map<std::uint64_t, std::size_t> before_;
};

std::size_t index_of(MemoryClass is) { return static_cast<std::size_t>(is); }

// What the allocator counts and no block stands for.
void add_rest(Parts& parts, std::int64_t live) {
    parts[index_of(MemoryClass::other)] =
        live - std::accumulate(parts.begin(), parts.end() - 1, std::int64_t{0});
}

}  // namespace

MemoryProfile memory_profile(const Recording& recording, const MemoryRecording& memory, std::size_t points) {
    MemoryProfile profile;
    if (recording.events.empty()) return profile;
    Sorting sorting(recording, memory);
    const std::size_t known = sorting.known();
    const auto blocks = sorting.blocks();
    // What each event adds to its class, or takes away.
    std::vector<std::pair<const Block*, std::int64_t>> changes(memory.events.size(), {nullptr, 0});
    Parts parts{};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto& block = blocks[i];
        if (i < known)
            parts[index_of(block.is)] += block.bytes;
        else
            changes[block.made] = {&block, block.bytes};
        if (block.ended) changes[*block.ended] = {&block, -block.bytes};
    }
    add_rest(parts, memory.live_before);
    const auto begin = recording.events.front().begin;
    std::int64_t end = begin;
    for (const auto& event : recording.events) end = std::max(end, event.end);
    const auto ms = [&](std::int64_t at) { return static_cast<double>(at - begin) * 1e-6; };
    profile.step_ms = ms(end);
    profile.peak = {0.0, parts};
    profile.line.push_back(profile.peak);

    std::map<std::string, std::int64_t> layers, layers_then;
    std::int64_t most_activations = 0;
    std::vector<std::string> order;
    std::size_t stretch = points;  // that the last point belongs to
    for (std::size_t i = 0; i < memory.events.size(); ++i) {
        const auto& event = memory.events[i];
        profile.allocations += event.bytes > 0 ? 1 : 0;
        if (const auto& [block, bytes] = changes[i]; block != nullptr) {
            parts[index_of(block->is)] += bytes;
            if (block->is == MemoryClass::activations) {
                if (layers.try_emplace(block->layer, 0).second) order.push_back(block->layer);
                layers[block->layer] += bytes;
            }
        }
        if (const auto kept = parts[index_of(MemoryClass::activations)]; kept > most_activations) {
            most_activations = kept;
            layers_then = layers;
        }
        add_rest(parts, event.live);
        const MemoryPoint point{ms(event.at), parts};
        if (point.total() > profile.peak.total()) profile.peak = point;
        const auto of = static_cast<std::size_t>(point.ms / std::max(profile.step_ms, 1e-9) *
                                                 static_cast<double>(points));
        if (of == stretch && profile.line.size() > 1) {
            if (point.total() >= profile.line.back().total()) profile.line.back() = point;
        } else {
            profile.line.push_back(point);
            stretch = of;
        }
    }
    profile.line.push_back({profile.step_ms, parts});
    for (const auto& layer : order) {
        if (const auto bytes = layers_then[layer]; bytes > 0) profile.layers.emplace_back(layer, bytes);
    }
    return profile;
}

}  // namespace switchyard::profile
