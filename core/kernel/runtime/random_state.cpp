#include "core/kernel/runtime/random_state.h"

#include <mutex>
#include <optional>

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace switchyard::runtime {
namespace {

at::Generator generator_of(Device device, int index) {
    const c10::Device where(device == Device::cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU,
                            static_cast<c10::DeviceIndex>(device == Device::cuda ? index : -1));
    return at::globalContext().defaultGenerator(where);
}

at::Tensor state_of(at::Generator generator) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    return generator.get_state();
}

void set_state(at::Generator generator, const at::Tensor& state) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(state);
}

}  // namespace

RandomState RandomState::capture(Device device, int index) {
    RandomState result;
    result.index_ = index;
    result.cpu_ = state_of(generator_of(Device::cpu, -1));
    if (device != Device::cpu) result.accelerator_ = state_of(generator_of(device, index));
    return result;
}

void RandomState::restore() const {
    set_state(generator_of(Device::cpu, -1), cpu_);
    if (accelerator_.defined()) set_state(generator_of(Device::cuda, index_), accelerator_);
}

ReplayRandom::ReplayRandom(const RandomState& from, Device device, int index)
    : now_(RandomState::capture(device, index)) {
    from.restore();
}

ReplayRandom::~ReplayRandom() { now_.restore(); }

}  // namespace switchyard::runtime
