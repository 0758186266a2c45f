// Cross-entropy by at::cross_entropy_loss, in float32 at least as autocast has it; the projection is an
// at::linear before it.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/questions.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchLoss final : public Loss {
public:
    using Loss::Loss;
    void* query(std::string_view id) override { return answer(id, {{graph_capture_question, ""}}); }

    static Verdict supports(const LossRequest& request, const HostInfo& host, const Options& options);
    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override;
};

}  // namespace switchyard
