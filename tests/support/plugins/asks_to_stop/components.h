// A ReLU that sends its program SIGTERM in one call: its n-th of more values than a probe tries, where
// SWITCHYARD_TEST_STOP_IN_CALL is n; the first one of an evaluation, where it is "evaluation". No
// configuration says so: a run that goes on is that of a run without.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plain_relu.h"

class AsksToStop final : public PlainRelu {
public:
    explicit AsksToStop(const switchyard::CreateInfo& info) : PlainRelu(info) {
        const char* const call = std::getenv("SWITCHYARD_TEST_STOP_IN_CALL");
        if (call == nullptr) return;
        in_evaluation_ = std::string_view(call) == "evaluation";
        call_ = in_evaluation_ ? 1 : std::atoll(call);
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs,
                       const switchyard::ActivationParams& parameters, switchyard::Saved* saved) override {
        const bool counts = inputs.x.numel() > 1000 && (!in_evaluation_ || !inputs.x.requires_grad());
        if (counts && ++calls_ == call_) std::raise(SIGTERM);
        return PlainRelu::forward(inputs, parameters, saved);
    }

private:
    bool in_evaluation_ = false;
    std::int64_t call_ = 0, calls_ = 0;
};
