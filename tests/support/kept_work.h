// A maker of device graphs that needs no device: it keeps the work and runs it where a device would replay
// it.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/workbench/device_graph/device_graph.h"

namespace switchyard::test {

class KeptWork final : public device_graph::DeviceGraph {
public:
    explicit KeptWork(device_graph::GraphMaker::Work work) : work_(std::move(work)) {}
    void replay() override { work_(); }

private:
    device_graph::GraphMaker::Work work_;
};

class KeepingMaker final : public device_graph::GraphMaker {
public:
    void warm_up(const Work& work) override { work(); }
    std::unique_ptr<device_graph::DeviceGraph> capture(const Work& work) override {
        if (fails) throw std::runtime_error("operation not permitted when stream is capturing");
        return std::make_unique<KeptWork>(work);
    }
    bool fails = false;
};

}  // namespace switchyard::test
