// A ReLU that sends its program SIGTERM in one call: its n-th of more values than a probe tries, where
// SWITCHYARD_TEST_STOP_IN_CALL is n. No configuration says so: a run that goes on is that of a run without.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "plain_relu.h"

class AsksToStop final : public PlainRelu {
public:
    explicit AsksToStop(const switchyard::CreateInfo& info) : PlainRelu(info) {
        if (const char* const call = std::getenv("SWITCHYARD_TEST_STOP_IN_CALL")) call_ = std::atoll(call);
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs,
                       const switchyard::ActivationParams& parameters, switchyard::Saved* saved) override {
        if (inputs.x.numel() > 1000 && ++calls_ == call_) std::raise(SIGTERM);
        return PlainRelu::forward(inputs, parameters, saved);
    }

private:
    std::int64_t call_ = 0, calls_ = 0;
};
