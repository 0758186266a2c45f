#include "core/workbench/train/library_generator.h"

#include <mutex>
#include <stdexcept>
#include <string>

#include <ATen/CPUGeneratorImpl.h>

namespace switchyard::train {
namespace {

at::Generator& generator() {
    static at::Generator cpu = at::detail::getDefaultCPUGenerator();
    return cpu;
}

}  // namespace

at::Tensor generator_state() {
    const std::lock_guard<std::mutex> lock(generator().mutex());
    return generator().get_state().clone();
}

void seed_generator(std::uint64_t seed) {
    const std::lock_guard<std::mutex> lock(generator().mutex());
    generator().set_current_seed(seed);
}

void set_generator_state(const at::Tensor& state) {
    const std::lock_guard<std::mutex> lock(generator().mutex());
    try {
        generator().set_state(state);
    } catch (const c10::Error& error) {
        throw std::invalid_argument(std::string("random state: ") + error.what_without_backtrace());
    }
}

}  // namespace switchyard::train
