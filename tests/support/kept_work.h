// A maker of device graphs that needs no device: it keeps the work and runs it where a device would replay
// it. A replay writes memory alone, so that tensors' versions are what they were; `written` names those for
// which a test asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/device_graph/device_graph.h"

namespace switchyard::test {

class KeptWork final : public device_graph::DeviceGraph {
public:
    KeptWork(device_graph::GraphMaker::Work work, std::vector<at::Tensor> written)
        : work_(std::move(work)), written_(std::move(written)) {}

    void replay() override {
        std::vector<std::uint32_t> versions;
        for (const auto& tensor : written_) versions.push_back(static_cast<std::uint32_t>(tensor._version()));
        work_();
        for (std::size_t i = 0; i < written_.size(); ++i)
            written_[i].unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(versions[i]));
    }

private:
    device_graph::GraphMaker::Work work_;
    std::vector<at::Tensor> written_;
};

class KeepingMaker final : public device_graph::GraphMaker {
public:
    void warm_up(const Work& work) override { work(); }
    std::unique_ptr<device_graph::DeviceGraph> capture(const Work& work) override {
        if (fails) throw std::runtime_error("operation not permitted when stream is capturing");
        return std::make_unique<KeptWork>(work, written);
    }
    bool fails = false;
    std::vector<at::Tensor> written;
};

}  // namespace switchyard::test
