#include "core/kernel/machine/cpu_allocator.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "core/kernel/machine/size_class.h"

namespace switchyard::machine {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t alignment = 64;
constexpr std::uint32_t from_malloc = ~std::uint32_t{0};
// What is kept beyond the peak of live bytes before the blocks that were not used for longest are given back.
constexpr std::int64_t spare_bytes = std::int64_t{64} << 20;

enum class BlockState : std::uint32_t { live = 0x4c495645, free = 0x46524545 };

// Lies right before the data.
struct alignas(alignment) Header {
    BlockState state;
    std::uint32_t size_class;
    std::int64_t requested;
    Header* next;

    void* data() { return this + 1; }
    static Header* of(void* data) { return static_cast<Header*>(data) - 1; }
};
static_assert(sizeof(Header) == alignment);

struct alignas(64) FreeList {
    std::mutex mutex;
    Header* first = nullptr;
    std::int64_t blocks = 0;
    std::int64_t allocations = 0;
    std::int64_t last_used = 0;  // in system allocations
};

struct alignas(64) Counters {
    std::atomic<std::int64_t> live{0};
    std::atomic<std::int64_t> peak{0};
    std::atomic<std::int64_t> malloc_allocations{0};
    std::atomic<std::int64_t> system_allocations{0};
    std::atomic<std::int64_t> held{0};          // by the caching kind, live or free, in capacities
    std::atomic<std::int64_t> highest_peak{0};  // before the last reset
};

// Tensors may be freed while the process ends: nothing here is ever destroyed.
Counters counters;
constinit std::array<FreeList, size_classes> lists;

void raise_to(std::atomic<std::int64_t>& maximum, std::int64_t value) {
    std::int64_t known = maximum.load(std::memory_order_relaxed);
    while (known < value && !maximum.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
    }
}

bool is_mapped(std::size_t capacity) { return capacity >= huge_page; }

// The header has a page of its own, so that data starts on a huge page and fills whole ones.
Header* map_block(std::size_t capacity) {
    const std::size_t length = (capacity + page - 1) / page * page;
    const std::size_t reserve = length + huge_page + page;
    void* const mapped = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<char*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(begin + page);
    char* const data = begin + page + ((huge_page - address % huge_page) % huge_page);
    char* const end = begin + reserve;
    if (data - page > begin) munmap(begin, static_cast<std::size_t>(data - page - begin));
    if (data + length < end) munmap(data + length, static_cast<std::size_t>(end - data) - length);
    madvise(data, length, MADV_HUGEPAGE);
    return Header::of(data);
}

Header* system_block(std::size_t capacity) {
    if (is_mapped(capacity)) return map_block(capacity);
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, sizeof(Header) + capacity) == 0 ? static_cast<Header*>(memory)
                                                                              : nullptr;
}

void release_block(Header* header) {
    const std::size_t capacity = capacity_of(header->size_class);
    counters.held.fetch_sub(static_cast<std::int64_t>(capacity), std::memory_order_relaxed);
    if (!is_mapped(capacity)) return std::free(header);
    munmap(static_cast<char*>(header->data()) - page, page + (capacity + page - 1) / page * page);
}

std::int64_t release_all(FreeList& list, std::int64_t at_most) {
    std::int64_t released = 0;
    while (released < at_most) {
        Header* header = nullptr;
        {
            const std::lock_guard<std::mutex> lock(list.mutex);
            header = list.first;
            if (header == nullptr) break;
            list.first = header->next;
            --list.blocks;
        }
        released += static_cast<std::int64_t>(capacity_of(header->size_class));
        release_block(header);
    }
    return released;
}

// Gives back at least `bytes` of free blocks, if there are as many: those of the sizes that were not used for
// longest.
void release_oldest(std::int64_t bytes) {
    std::vector<std::pair<std::int64_t, FreeList*>> order;
    for (FreeList& list : lists) {
        const std::lock_guard<std::mutex> lock(list.mutex);
        if (list.first != nullptr) order.emplace_back(list.last_used, &list);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [last_used, list] : order) {
        if (bytes <= 0) return;
        bytes -= release_all(*list, bytes);
    }
}

[[noreturn]] void out_of_memory(std::size_t bytes, std::int64_t given_back) {
    const MemoryStats stats = cpu_memory_stats();
    C10_THROW_ERROR(OutOfMemoryError,
                    "cannot allocate " + std::to_string(bytes) + " bytes of CPU memory: live tensors hold " +
                        std::to_string(stats.live_bytes) + " bytes, and " + std::to_string(given_back) +
                        " bytes of freed ones have been given back to the system");
}

Header* new_block(std::size_t size_class, std::size_t bytes) {
    const std::size_t capacity = capacity_of(size_class);
    const auto wanted = static_cast<std::int64_t>(capacity);
    const std::int64_t peak =
        std::max({counters.peak.load(), counters.highest_peak.load(), counters.live.load()});
    const std::int64_t limit = peak + peak / 2 + spare_bytes;
    const std::int64_t excess = counters.held.load() + wanted - limit;
    if (excess > 0) release_oldest(excess);
    Header* header = system_block(capacity);
    if (header == nullptr) {
        const std::int64_t given_back = trim_cpu_cache();
        header = system_block(capacity);
        if (header == nullptr) out_of_memory(bytes, given_back);
    }
    counters.held.fetch_add(wanted, std::memory_order_relaxed);
    counters.system_allocations.fetch_add(1, std::memory_order_relaxed);
    header->size_class = static_cast<std::uint32_t>(size_class);
    return header;
}

Header* cached_block(std::size_t bytes) {
    if (bytes > largest_block) out_of_memory(bytes, 0);
    const std::size_t size_class = size_class_of(bytes);
    FreeList& list = lists[size_class];
    {
        const std::lock_guard<std::mutex> lock(list.mutex);
        ++list.allocations;
        list.last_used = counters.system_allocations.load(std::memory_order_relaxed);
        if (Header* const header = list.first) {
            list.first = header->next;
            --list.blocks;
            return header;
        }
    }
    return new_block(size_class, bytes);
}

Header* malloc_block(std::size_t bytes) {
    void* memory = nullptr;
    if (bytes > largest_block || posix_memalign(&memory, alignment, sizeof(Header) + bytes) != 0)
        out_of_memory(bytes, 0);
    auto* const header = static_cast<Header*>(memory);
    header->size_class = from_malloc;
    counters.malloc_allocations.fetch_add(1, std::memory_order_relaxed);
    return header;
}

void report(void* data, std::int64_t bytes) {
    if (C10_LIKELY(!c10::memoryProfilingEnabled())) return;
    const auto live = static_cast<std::size_t>(counters.live.load(std::memory_order_relaxed));
    c10::reportMemoryUsageToProfiler(data, bytes, live, live, c10::Device(c10::DeviceType::CPU));
}

[[noreturn]] void not_ours(const void* data, BlockState state) {
    std::fprintf(
        stderr, "switchyard: the tensor memory at %p is freed %s\n", data,
        state == BlockState::free ? "a second time" : "after the 64 bytes before it were overwritten");
    std::abort();
}

void free_data(void* data) {
    if (data == nullptr) return;
    Header* const header = Header::of(data);
    if (header->state != BlockState::live) not_ours(data, header->state);
    header->state = BlockState::free;
    counters.live.fetch_sub(header->requested, std::memory_order_relaxed);
    report(data, -header->requested);
    if (header->size_class == from_malloc) return std::free(header);
    FreeList& list = lists[header->size_class];
    const std::lock_guard<std::mutex> lock(list.mutex);
    list.last_used = counters.system_allocations.load(std::memory_order_relaxed);
    header->next = list.first;
    list.first = header;
    ++list.blocks;
}

class CpuAllocator final : public c10::Allocator {
public:
    explicit CpuAllocator(config::Allocator kind) : kind_(kind) {}

    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &free_data, cpu};
        Header* const header =
            kind_ == config::Allocator::caching ? cached_block(bytes) : malloc_block(bytes);
        header->state = BlockState::live;
        header->requested = static_cast<std::int64_t>(bytes);
        const std::int64_t live =
            counters.live.fetch_add(header->requested, std::memory_order_relaxed) + header->requested;
        raise_to(counters.peak, live);
        report(header->data(), header->requested);
        return {header->data(), header->data(), &free_data, cpu};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &free_data; }

    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }

private:
    config::Allocator kind_;
};

}  // namespace

void install_cpu_allocator(config::Allocator kind) {
    static auto* const caching = new CpuAllocator(config::Allocator::caching);
    static auto* const plain = new CpuAllocator(config::Allocator::malloc);
    c10::SetCPUAllocator(kind == config::Allocator::caching ? caching : plain, /*priority=*/100);
}

MemoryStats cpu_memory_stats() {
    MemoryStats stats;
    stats.live_bytes = counters.live.load();
    stats.peak_bytes = counters.peak.load();
    stats.system_allocations = counters.system_allocations.load() + counters.malloc_allocations.load();
    stats.allocations = counters.malloc_allocations.load();
    for (std::size_t i = 0; i < size_classes; ++i) {
        FreeList& list = lists[i];
        const std::lock_guard<std::mutex> lock(list.mutex);
        stats.allocations += list.allocations;
        stats.cached_bytes += list.blocks * static_cast<std::int64_t>(capacity_of(i));
    }
    return stats;
}

void reset_cpu_peak() {
    raise_to(counters.highest_peak, counters.peak.load());
    counters.peak.store(counters.live.load());
}

std::int64_t trim_cpu_cache() {
    std::int64_t released = 0;
    for (FreeList& list : lists) released += release_all(list, largest_block);
    malloc_trim(0);
    return released;
}

}  // namespace switchyard::machine
