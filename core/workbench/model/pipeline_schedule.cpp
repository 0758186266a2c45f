#include "core/workbench/model/pipeline_schedule.h"

#include <algorithm>

namespace switchyard::model {
namespace {

class Ops {
public:
    Ops(std::int64_t stage, std::int64_t stages) : first_(stage == 0), last_(stage + 1 == stages) {}

    void forward(std::int64_t micro_batch) {
        if (!first_) add(StageAct::receive_forward, micro_batch);
        add(StageAct::forward, micro_batch);
        if (!last_) add(StageAct::send_forward, micro_batch);
    }
    void backward(std::int64_t micro_batch) {
        if (!last_) add(StageAct::receive_backward, micro_batch);
        add(StageAct::backward, micro_batch);
        if (!first_) add(StageAct::send_backward, micro_batch);
    }
    std::vector<StageOp> take() { return std::move(ops_); }

private:
    void add(StageAct act, std::int64_t micro_batch) { ops_.push_back({act, micro_batch}); }

    bool first_, last_;
    std::vector<StageOp> ops_;
};

}  // namespace

std::vector<StageOp> stage_ops(config::PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                               std::int64_t micro_batches) {
    Ops ops(stage, stages);
    if (schedule == config::PipelineSchedule::gpipe) {
        for (std::int64_t i = 0; i < micro_batches; ++i) ops.forward(i);
        for (std::int64_t i = micro_batches; i-- > 0;) ops.backward(i);
        return ops.take();
    }
    const auto ahead = std::min(stages - 1 - stage, micro_batches);
    for (std::int64_t i = 0; i < ahead; ++i) ops.forward(i);
    for (std::int64_t i = ahead; i < micro_batches; ++i) {
        ops.forward(i);
        ops.backward(i - ahead);
    }
    for (std::int64_t i = micro_batches - ahead; i < micro_batches; ++i) ops.backward(i);
    return ops.take();
}

std::int64_t most_kept(config::PipelineSchedule schedule, std::int64_t stage, std::int64_t stages,
                       std::int64_t micro_batches) {
    if (schedule == config::PipelineSchedule::gpipe) return micro_batches;
    return std::min(stages - stage, micro_batches);
}

double bubble_share(std::int64_t stages, std::int64_t micro_batches) {
    return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

}  // namespace switchyard::model
