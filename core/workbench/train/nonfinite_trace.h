// Which operation of which layer made the first NaN or Inf: what `switchyard train --trace-nonfinite`
// switches on.
//
// Every call of a component is observed ("core/kernel/runtime/call_observer.h"): in forward what goes in
// and what comes out, in backward the gradients that arrive and those that it makes, in a step the
// parameters. What comes first is what is kept. That is a pass over each tensor and a wait for each.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/kernel/runtime/call_observer.h"

namespace switchyard::train {

struct NonfiniteFinding {
    // "encoder.3.attention: attention (flash/flash), forward output out: 3 NaN of 4096 values, bfloat16 [2,
    // 4, 512]"
    std::string text;
    bool forward = false;  // else a gradient, where a loss scale may be what does it
};

class NonfiniteTrace final : public runtime::CallObserver {
public:
    void begin_step();
    // The first since begin_step.
    std::optional<NonfiniteFinding> first() const;

    void observe(const runtime::ObservedCall& call) override;

private:
    void look(const runtime::ObservedCall& call, const char* what, const runtime::ObservedTensor& tensor);

    mutable std::mutex mutex_;
    std::optional<NonfiniteFinding> first_;
};

}  // namespace switchyard::train
