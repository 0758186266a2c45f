// LibTorch's generator, put back and forth.
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>

#include "core/kernel/runtime/random_state.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::RandomState;
using runtime::ReplayRandom;

TEST_CASE("a replay draws the same numbers, and afterwards the generator goes on where it was") {
    at::rand({3});
    const RandomState before = RandomState::capture(Device::cpu);
    const at::Tensor first = at::rand({100});
    const RandomState middle = RandomState::capture(Device::cpu);
    const at::Tensor second = at::rand({100});
    middle.restore();
    {
        const ReplayRandom replay(before, Device::cpu);
        CHECK(at::equal(at::rand({100}), first));
        {
            const ReplayRandom inner(before, Device::cpu);
            CHECK(at::equal(at::rand({100}), first));
        }
        CHECK(at::equal(at::rand({100}), second));
    }
    CHECK(at::equal(at::rand({100}), second));
}

TEST_CASE("the generator is put back when the replayed call throws") {
    const RandomState before = RandomState::capture(Device::cpu);
    const at::Tensor expected = at::rand({10});
    before.restore();
    try {
        const ReplayRandom replay(before, Device::cpu);
        at::rand({5});
        throw 1;
    } catch (int) {
    }
    CHECK(at::equal(at::rand({10}), expected));
}
