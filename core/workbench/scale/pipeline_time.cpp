#include "core/workbench/scale/pipeline_time.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/workbench/model/pipeline_schedule.h"
#include "core/workbench/scale/step_timeline.h"

namespace switchyard::scale {
namespace {

using model::StageAct;
using model::StageOp;

class Pipeline {
public:
    explicit Pipeline(const PipelineCosts& costs) : costs_(costs), now_(costs.forward_ms.size()) {
        const auto stages = static_cast<std::int64_t>(now_.size());
        for (std::int64_t stage = 0; stage < stages; ++stage)
            ops_.push_back(model::stage_ops(costs.schedule, stage, stages, costs.micro_batches));
    }

    PipelineTime run() {
        std::vector<std::size_t> next(ops_.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t stage = 0; stage < ops_.size(); ++stage)
                while (next[stage] < ops_[stage].size() && runs(stage, ops_[stage][next[stage]]))
                    ++next[stage], moved = true;
        }
        PipelineTime time;
        time.all_ms = *std::ranges::max_element(now_);
        for (std::size_t stage = 0; stage < ops_.size(); ++stage)
            time.waits_ms.push_back(time.all_ms - static_cast<double>(costs_.micro_batches) *
                                                      (costs_.forward_ms[stage] + costs_.backward_ms[stage]));
        return time;
    }

private:
    // By whom it was sent, whether back, and its micro-batch.
    using Message = std::pair<std::pair<std::size_t, bool>, std::int64_t>;

    bool receive(std::size_t stage, const Message& message) {
        const auto found = arrives_.find(message);
        if (found == arrives_.end()) return false;
        now_[stage] = std::max(now_[stage], found->second);
        return true;
    }
    bool runs(std::size_t stage, const StageOp& op) {
        switch (op.act) {
            case StageAct::receive_forward:
                return receive(stage, {{stage - 1, false}, op.micro_batch});
            case StageAct::receive_backward:
                return receive(stage, {{stage + 1, true}, op.micro_batch});
            case StageAct::forward:
                now_[stage] += costs_.forward_ms[stage];
                return true;
            case StageAct::backward:
                now_[stage] += costs_.backward_ms[stage];
                return true;
            case StageAct::send_forward:
            case StageAct::send_backward:
                arrives_[{{stage, op.act == StageAct::send_backward}, op.micro_batch}] =
                    now_[stage] + costs_.send_ms;
                return true;
        }
        return false;
    }

    const PipelineCosts& costs_;
    std::vector<double> now_;  // of each stage
    std::vector<std::vector<StageOp>> ops_;
    std::map<Message, double> arrives_;
};

}  // namespace

double PipelineTime::bubble() const {
    const double waits = std::accumulate(waits_ms.begin(), waits_ms.end(), 0.0);
    return all_ms > 0.0 ? share_of_times(waits, all_ms * static_cast<double>(waits_ms.size())) : 0.0;
}

PipelineTime simulate_pipeline(const PipelineCosts& costs) { return Pipeline(costs).run(); }

}  // namespace switchyard::scale
