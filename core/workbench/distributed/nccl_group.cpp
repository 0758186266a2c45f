// NCCL's process group for tensors on CUDA devices. Opened by nccl_library.cpp; nothing links it.
#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

extern "C" __attribute__((visibility("default"))) const char* switchyard_add_nccl(void* group,
                                                                                  const void* store,
                                                                                  double timeout_seconds) {
    static std::string problem;
    try {
        auto& ranks = *static_cast<c10::intrusive_ptr<c10d::ProcessGroup>*>(group);
        const auto& shared = *static_cast<const c10::intrusive_ptr<c10d::Store>*>(store);
        auto options = c10d::ProcessGroupNCCL::Options::create();
        options->timeout = std::chrono::milliseconds(
            std::max<std::int64_t>(1, static_cast<std::int64_t>(timeout_seconds * 1000.0)));
        ranks->setBackend(
            c10::DeviceType::CUDA, c10d::ProcessGroup::NCCL,
            c10::make_intrusive<c10d::ProcessGroupNCCL>(shared, ranks->getRank(), ranks->getSize(), options));
        return nullptr;
    } catch (const std::exception& error) {
        problem = error.what();
        problem = problem.substr(0, problem.find('\n'));
        return problem.c_str();
    }
}
