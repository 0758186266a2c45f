// The sections about a run as a whole: [run], [runtime], [plugins], [batch], [log].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// Who hands out CPU memory for tensors: the core's caching, counting allocator, or the C library through
// LibTorch.
enum class Allocator : std::uint8_t { caching, malloc };

// What `backend = "auto"` goes by among the components that serve a request: their speed on this host, or the
// priority that their plugins declare.
enum class AutoChoice : std::uint8_t { measured, priority };

// Which of the times that `auto` took are kept for later runs: those while hardly anybody else used the
// processors, or all.
enum class KeepTimes : std::uint8_t { undisturbed, always };

// What may be demanded of plugins: that somebody whom the user trusts signed them, that a run of conformance
// passed, that they are those of the lock.
enum class Demand : std::uint8_t { signature, conformance, lock };

// How long a thread of LibTorch's that has no work spins before it sleeps.
enum class Spin : std::uint8_t { never, brief, lengthy };

struct RunConfig {
    std::int64_t seed = 0;
    Device device = Device::cpu;
    bool deterministic = false;                            // same input, same bits, run after run
    std::vector<Phase> phases{Phase::train, Phase::eval};  // what is planned and bound
    bool operator==(const RunConfig&) const = default;
};

struct RuntimeConfig {
    Allocator allocator = Allocator::caching;
    std::int64_t threads = 0;  // 0: all cores that the process may use
    AutoChoice auto_choice = AutoChoice::measured;
    KeepTimes keep_times = KeepTimes::undisturbed;
    Spin spin = Spin::brief;
    bool operator==(const RuntimeConfig&) const = default;
};

struct PluginsConfig {
    std::vector<std::string> paths;  // folders or libraries; absolute, or relative to the working directory
    std::vector<std::string> disabled;      // names of plugins that are not to be used
    std::vector<Demand> require;            // of plugins that are used
    std::vector<std::string> trusted_keys;  // files of public keys, beside the user's own
    std::string lock;                       // file; empty: plugins.lock beside the configuration
    bool requires_of(Demand demand) const {
        return std::find(require.begin(), require.end(), demand) != require.end();
    }
    bool operator==(const PluginsConfig&) const = default;
};

// Shapes of the batches: what requests give as ranges. Lengths are tokens of one sequence.
struct BatchConfig {
    std::int64_t size = 32;
    std::int64_t min_length = 1;
    std::int64_t max_length = 512;                  // left out: model.max_positions
    std::optional<Layout> layout = Layout::padded;  // empty: auto, not chosen yet
    std::int64_t tokens = 0;                        // 0: as many as come
    std::int64_t pad_multiple = 1;                  // rows are rounded up to it
    bool fit = false;                               // size is to be found: the largest that fits

    // Where `auto` has not been decided, what it falls back to.
    Layout planned_layout() const { return layout.value_or(Layout::padded); }
    // That one side of a batch may have, padding counted: a sequence beyond the budget comes by itself.
    std::int64_t most_tokens() const { return tokens > 0 ? std::max(tokens, max_length) : size * max_length; }
    bool operator==(const BatchConfig&) const = default;
};

// A program that gets what a training writes down, as it does.
struct LogConfig {
    std::vector<std::string> command;  // it and its arguments; empty: none
    double end_seconds = 30.0;         // that it has to end after its input did
    bool operator==(const LogConfig&) const = default;
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<config::Allocator>{"caching", "malloc"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::AutoChoice>{"measured", "priority"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::KeepTimes>{"undisturbed", "always"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Demand>{"signed", "conformant", "locked"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Spin>{"never", "short", "long"};
}  // namespace switchyard
