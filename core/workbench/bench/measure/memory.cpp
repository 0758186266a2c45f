#include "core/workbench/bench/measure/memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/kernel/machine/cpu_allocator.h"

namespace switchyard::bench {

namespace {

c10::DeviceIndex index_of(c10::Device device) {
    return device.has_index() ? device.index() : c10::DeviceIndex{0};
}

std::int64_t extra_on_cpu(const std::function<void()>& run) {
    machine::reset_cpu_peak();
    const std::int64_t before = machine::cpu_memory_stats().live_bytes;
    run();
    return machine::cpu_memory_stats().peak_bytes - before;
}

std::int64_t extra_on_device(const std::function<void()>& run, c10::Device device) {
    auto* const allocator = c10::getDeviceAllocator(device.type());
    const auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    synchronize(device);
    allocator->resetPeakStats(index_of(device));
    const std::int64_t before =
        allocator->getDeviceStats(index_of(device)).allocated_bytes[aggregate].current;
    run();
    synchronize(device);
    return allocator->getDeviceStats(index_of(device)).allocated_bytes[aggregate].peak - before;
}

}  // namespace

std::int64_t extra_memory(const std::function<void()>& run, c10::Device device) {
    return device.is_cpu() ? extra_on_cpu(run) : extra_on_device(run, device);
}

void reset_peak_memory(c10::Device device) {
    if (device.is_cpu()) return machine::reset_cpu_peak();
    c10::getDeviceAllocator(device.type())->resetPeakStats(index_of(device));
}

std::int64_t peak_memory(c10::Device device) {
    if (device.is_cpu()) return machine::cpu_memory_stats().peak_bytes;
    const auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return c10::getDeviceAllocator(device.type())
        ->getDeviceStats(index_of(device))
        .allocated_bytes[aggregate]
        .peak;
}

void synchronize(c10::Device device) {
    if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(index_of(device));
}

}  // namespace switchyard::bench
