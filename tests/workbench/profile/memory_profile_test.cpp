// What memory is for, by when it comes and goes. The oracle is a step whose blocks are written by hand.
#include "core/workbench/profile/memory_profile.h"

#include "made_up_step.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using profile::EventKind;
using profile::MemoryClass;

namespace {

std::int64_t bytes(const profile::MemoryPoint& point, MemoryClass is) {
    return point.parts[static_cast<std::size_t>(is)];
}

// Events of a step with all its parts, and blocks in them.
struct MadeUpMemory {
    MadeUpStep step;
    profile::MemoryRecording memory;
    std::int64_t live = 0;

    void known(std::uint64_t address, MemoryClass is, std::int64_t size) {
        memory.known.push_back({address, {is, size}});
        live += size;
        memory.live_before = live;
    }
    // More than is known of.
    void unknown(std::int64_t size) {
        live += size;
        memory.live_before = live;
    }
    void change(std::uint64_t address, std::int64_t size, double ms, std::int32_t event) {
        live += size;
        memory.events.push_back({static_cast<std::int64_t>(ms * 1e6), address, size, live, event});
    }
};

}  // namespace

TEST_CASE("memory is sorted by when it comes and goes, and the parts are all of it at every moment") {
    MadeUpMemory m;
    m.known(1, MemoryClass::parameters, 1000);
    m.known(2, MemoryClass::optimizer_state, 2000);
    m.unknown(10);
    m.step.begin(EventKind::step, "data", 0);
    const auto data = m.step.begin(EventKind::part, "data", 0);
    m.change(3, 40, 1, data);  // the batch
    m.step.end(2), m.step.end(2);
    m.step.begin(EventKind::step, "step", 2);
    m.step.begin(EventKind::part, "forward", 2);
    const auto layer = m.step.begin(EventKind::place, "encoder.0.attention", 2);
    m.change(4, 500, 3, layer);  // kept for backward
    m.change(5, 300, 3, layer);  // gone in forward
    m.change(5, -300, 4, layer);
    m.change(6, 70, 4, layer);  // a cast of a weight, kept to the end
    m.step.end(5), m.step.end(5);
    const auto backward = m.step.begin(EventKind::part, "backward", 5);
    m.change(7, 1000, 6, backward);  // the gradient
    m.change(8, 200, 6, backward);   // gone in backward
    m.change(4, -500, 7, backward);
    m.change(8, -200, 7, backward);
    m.step.end(8);
    m.memory.gradients = {7};
    m.memory.at_gradients = m.memory.events.size();
    const auto update = m.step.begin(EventKind::part, "update", 8);
    m.change(9, 25, 9, update);
    m.change(9, -25, 9, update);
    m.change(6, -70, 9.5, update);
    m.change(7, -1000, 9.5, update);
    m.step.end(10), m.step.end(10);

    const auto profile = profile::memory_profile(m.step.recording, m.memory);
    const auto& peak = profile.peak;
    CHECK(peak.total() == 1000 + 2000 + 10 + 40 + 500 + 70 + 1000 + 200);
    CHECK(peak.ms == Approx(6));
    CHECK(bytes(peak, MemoryClass::parameters) == 1000);
    CHECK(bytes(peak, MemoryClass::optimizer_state) == 2000);
    CHECK(bytes(peak, MemoryClass::other) == 10);
    CHECK(bytes(peak, MemoryClass::batches) == 40);
    CHECK(bytes(peak, MemoryClass::activations) == 500);
    CHECK(bytes(peak, MemoryClass::weight_forms) == 70);
    CHECK(bytes(peak, MemoryClass::gradients) == 1000);
    CHECK(bytes(peak, MemoryClass::temporaries) == 200);
    CHECK(profile.allocations == 7);
    CHECK(profile.step_ms == Approx(10));
    REQUIRE(profile.layers.size() == 1);
    CHECK(profile.layers[0] == std::pair<std::string, std::int64_t>("encoder.0", 500));
    for (const auto& point : profile.line) CHECK(bytes(point, MemoryClass::other) == 10);
    CHECK(profile.line.back().total() == 1000 + 2000 + 10 + 40);
}

TEST_CASE("an address that is used again is another block") {
    MadeUpMemory m;
    m.step.begin(EventKind::step, "step", 0);
    const auto forward = m.step.begin(EventKind::part, "forward", 0);
    m.change(1, 10, 0, forward);
    m.change(1, -10, 0.1, forward);
    m.change(1, 30, 0.2, forward);
    m.step.end(1);
    const auto backward = m.step.begin(EventKind::part, "backward", 1);
    m.change(1, -30, 1.5, backward);
    m.step.end(2);
    m.memory.at_gradients = m.memory.events.size();
    m.step.begin(EventKind::part, "update", 2);
    m.step.end(3), m.step.end(3);
    const auto profile = profile::memory_profile(m.step.recording, m.memory);
    CHECK(bytes(profile.peak, MemoryClass::activations) == 30);
    CHECK(profile.peak.total() == 30);
}

TEST_CASE("a line of few points keeps the highest of each stretch") {
    MadeUpMemory m;
    m.step.begin(EventKind::step, "step", 0);
    const auto forward = m.step.begin(EventKind::part, "forward", 0);
    for (int i = 0; i < 1000; ++i) {
        m.change(static_cast<std::uint64_t>(i), 100 + i % 7, i * 0.1, forward);
        m.change(static_cast<std::uint64_t>(i), -(100 + i % 7), i * 0.1 + 0.05, forward);
    }
    m.step.end(100), m.step.end(100);
    const auto profile = profile::memory_profile(m.step.recording, m.memory, 10);
    CHECK(profile.line.size() <= 13);
    CHECK(profile.peak.total() == 106);
    CHECK(profile.line[3].total() == 106);
}

TEST_CASE("a step of which nothing is known has no memory") {
    CHECK(profile::memory_profile({}, {}).line.empty());
}
