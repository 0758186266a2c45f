// The plain reference of every loss, of cross-entropy with the projection before it.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaiveLoss final : public Loss {
public:
    using Loss::Loss;

    static Verdict supports(const LossRequest& request, const HostInfo& host, const Options& options);
    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override;
};

}  // namespace switchyard
