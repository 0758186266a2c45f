// The CPU allocator, alone and under LibTorch. Counts are exact, so every case compares before and after. To
// add one: take the allocator through `memory`, or make tensors; memory of other cases does not change in
// between.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/size_class.h"

#include <switchyard_test.h>

using namespace switchyard::machine;
using switchyard::config::Allocator;

namespace {

// Installs a kind for one case.
struct Installed {
    explicit Installed(Allocator kind) { install_cpu_allocator(kind); }
    ~Installed() {
        trim_cpu_cache();
        install_cpu_allocator(Allocator::caching);
    }
};

c10::DataPtr memory(std::size_t bytes) { return c10::GetCPUAllocator()->allocate(bytes); }

const std::vector<std::size_t> sizes{1,
                                     2,
                                     63,
                                     64,
                                     65,
                                     511,
                                     512,
                                     513,
                                     4095,
                                     4096,
                                     5000,
                                     65536,
                                     1 << 20,
                                     (1 << 21) - 1,
                                     1 << 21,
                                     (1 << 21) + 1,
                                     3000000,
                                     16 << 20,
                                     (16 << 20) + 7,
                                     100 << 20};

}  // namespace

TEST_CASE("size classes hold what they are for, and waste at most an eighth") {
    std::size_t last = 0;
    for (std::size_t size_class = 0; size_class < size_classes; ++size_class) {
        REQUIRE(capacity_of(size_class) > last);
        REQUIRE(capacity_of(size_class) % 64 == 0);
        REQUIRE(size_class_of(last + 1) == size_class);
        REQUIRE(size_class_of(capacity_of(size_class)) == size_class);
        if (last >= 512) REQUIRE(capacity_of(size_class) - (last + 1) <= (last + 1) / 8);
        last = capacity_of(size_class);
    }
    CHECK(last == largest_block);
}

TEST_CASE("every size is aligned, writable to its last byte, and counted exactly") {
    const Allocator kind = GENERATE(Allocator::caching, Allocator::malloc);
    const Installed installed(kind);
    const std::int64_t before = cpu_memory_stats().live_bytes;
    for (const std::size_t size : sizes) {
        const c10::DataPtr data = memory(size);
        REQUIRE(reinterpret_cast<std::uintptr_t>(data.get()) % 64 == 0);
        if (size >= (2 << 20) && kind == Allocator::caching) {
            REQUIRE(reinterpret_cast<std::uintptr_t>(data.get()) % (2 << 20) == 0);
        }
        std::memset(data.get(), 0x5A, size);
        REQUIRE(static_cast<char*>(data.get())[size - 1] == 0x5A);
        REQUIRE(cpu_memory_stats().live_bytes == before + static_cast<std::int64_t>(size));
    }
    CHECK(cpu_memory_stats().live_bytes == before);
}

TEST_CASE("nothing is nothing") {
    const Installed installed(Allocator::caching);
    const std::int64_t before = cpu_memory_stats().allocations;
    const c10::DataPtr data = memory(0);
    CHECK(data.get() == nullptr);
    CHECK(at::empty({0, 5}).numel() == 0);
    CHECK(cpu_memory_stats().allocations == before);
}

TEST_CASE("the peak is the most that was live at once since the last reset") {
    const Installed installed(GENERATE(Allocator::caching, Allocator::malloc));
    reset_cpu_peak();
    const std::int64_t base = cpu_memory_stats().live_bytes;
    CHECK(cpu_memory_stats().peak_bytes == base);
    {
        const c10::DataPtr a = memory(1000);
        const c10::DataPtr b = memory(5000000);
    }
    { const c10::DataPtr c = memory(3000000); }
    CHECK(cpu_memory_stats().peak_bytes == base + 5001000);
    reset_cpu_peak();
    CHECK(cpu_memory_stats().peak_bytes == base);
}

TEST_CASE("a freed block is handed out again for a size of its class") {
    const Installed installed(Allocator::caching);
    for (const std::size_t size : {std::size_t{100}, std::size_t{70000}, std::size_t{10} << 20}) {
        void* first = nullptr;
        {
            const c10::DataPtr data = memory(size);
            first = data.get();
        }
        const std::int64_t system = cpu_memory_stats().system_allocations;
        CHECK(cpu_memory_stats().cached_bytes >= static_cast<std::int64_t>(size));
        const c10::DataPtr again = memory(size - 1);
        CHECK(again.get() == first);
        CHECK(cpu_memory_stats().system_allocations == system);
    }
}

TEST_CASE("trimming gives cached blocks back") {
    const Installed installed(Allocator::caching);
    trim_cpu_cache();
    {
        const c10::DataPtr large = memory(32 << 20);
        const c10::DataPtr small = memory(1000);
        std::memset(large.get(), 1, 32 << 20);
    }
    const MemoryStats before = cpu_memory_stats();
    CHECK(before.cached_bytes == (32 << 20) + 1024);
    CHECK(trim_cpu_cache() == before.cached_bytes);
    CHECK(cpu_memory_stats().cached_bytes == 0);
    CHECK(trim_cpu_cache() == 0);
}

TEST_CASE("what is cached stays in proportion to the peak") {
    const Installed installed(Allocator::caching);
    trim_cpu_cache();
    // Every size once: none can be served from the cache of another.
    for (std::size_t size_class = size_class_of(4 << 20); capacity_of(size_class) <= (std::size_t{256} << 20);
         ++size_class) {
        const c10::DataPtr data = memory(capacity_of(size_class));
    }
    const MemoryStats stats = cpu_memory_stats();
    CHECK(stats.cached_bytes > 0);
    CHECK(stats.cached_bytes <= (std::int64_t{256} << 20) * 3 / 2 + (64 << 20) + stats.live_bytes * 2);
}

TEST_CASE("memory may be freed on another thread, and by whoever is installed then") {
    const Installed installed(Allocator::caching);
    const std::int64_t before = cpu_memory_stats().live_bytes;
    c10::DataPtr data = memory(123456);
    std::thread([moved = std::move(data)]() mutable { moved.clear(); }).join();
    CHECK(cpu_memory_stats().live_bytes == before);

    c10::DataPtr cached = memory(5000);
    install_cpu_allocator(Allocator::malloc);
    c10::DataPtr plain = memory(5000);
    cached.clear();
    install_cpu_allocator(Allocator::caching);
    plain.clear();
    CHECK(cpu_memory_stats().live_bytes == before);
}

TEST_CASE("threads allocate and free without mixing their blocks") {
    const Installed installed(GENERATE(Allocator::caching, Allocator::malloc));
    const std::int64_t before = cpu_memory_stats().live_bytes;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::vector<c10::DataPtr> held(16);
            for (int i = 0; i < 4000; ++i) {
                const std::size_t size = 8 + static_cast<std::size_t>((i * 37 + t * 11) % 5000);
                c10::DataPtr& slot = held[static_cast<std::size_t>(i) % held.size()];
                if (slot.get() != nullptr && *static_cast<int*>(slot.get()) != t * 100000 + i - 16) ++wrong;
                slot = memory(size);
                *static_cast<int*>(slot.get()) = t * 100000 + i;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(cpu_memory_stats().live_bytes == before);
}

TEST_CASE("what cannot be had is an error of LibTorch's kind that says how much was asked") {
    const Installed installed(GENERATE(Allocator::caching, Allocator::malloc));
    const std::int64_t before = cpu_memory_stats().live_bytes;
    CHECK_THROWS_AS(memory(std::size_t{1} << 46), c10::OutOfMemoryError);
    CHECK_THROWS_WITH(memory(std::size_t{1} << 46),
                      switchyard::test::contains("cannot allocate 70368744177664 bytes of CPU memory"));
    CHECK_THROWS_AS(memory(std::size_t{1} << 60), c10::OutOfMemoryError);
    CHECK(cpu_memory_stats().live_bytes == before);
    CHECK(memory(1000).get() != nullptr);
}

TEST_CASE("LibTorch works on it") {
    const Installed installed(GENERATE(Allocator::caching, Allocator::malloc));
    const std::int64_t before = cpu_memory_stats().live_bytes;
    {
        const at::Tensor a = at::arange(1000, at::TensorOptions().dtype(at::kFloat));
        CHECK(cpu_memory_stats().live_bytes == before + 4000);
        const at::Tensor b = a.clone();
        CHECK(cpu_memory_stats().live_bytes == before + 8000);
        CHECK(at::equal(a + b, a * 2));
        const at::Tensor c = at::ones({64, 64}).matmul(at::ones({64, 64}));
        CHECK(c.min().item<float>() == 64.0F);
        const at::Tensor joined = at::cat({a, b});
        CHECK(joined.sum().item<float>() == 999000.0F);
        CHECK(a.to(at::kBFloat16).to(at::kFloat)[128].item<float>() == 128.0F);
    }
    CHECK(cpu_memory_stats().live_bytes == before);
}

TEST_CASE("a storage grows and shrinks in place of the tensor") {
    const Installed installed(GENERATE(Allocator::caching, Allocator::malloc));
    const std::int64_t before = cpu_memory_stats().live_bytes;
    {
        at::Tensor tensor = at::ones({10});
        tensor.resize_({1000});
        CHECK(cpu_memory_stats().live_bytes == before + 4000);
        CHECK(tensor.narrow(0, 0, 10).sum().item<float>() == 10.0F);
        tensor.resize_({0});
        tensor.resize_({3000});
        tensor.fill_(2);
        CHECK(tensor.sum().item<float>() == 6000.0F);
    }
    CHECK(cpu_memory_stats().live_bytes == before);
}

TEST_CASE("memory that is not the allocator's own is left alone") {
    const Installed installed(Allocator::caching);
    const std::int64_t before = cpu_memory_stats().live_bytes;
    float values[4] = {1, 2, 3, 4};
    {
        const at::Tensor view = at::from_blob(values, {4});
        CHECK(cpu_memory_stats().live_bytes == before);
        CHECK(view.sum().item<float>() == 10.0F);
    }
    CHECK(values[3] == 4);
    // LibTorch's raw interface, which needs the deleter to be the one of every block.
    auto* const allocator = c10::GetCPUAllocator();
    void* const raw = allocator->raw_allocate(100);
    CHECK(cpu_memory_stats().live_bytes == before + 100);
    allocator->raw_deallocate(raw);
    CHECK(cpu_memory_stats().live_bytes == before);
}
