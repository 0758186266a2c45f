// Growing rows without a cache: the whole sequence of each goes through the model again for every token. The
// oracle of the cached ones.
#pragma once

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/config.h"
#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

class WholeRows final : public GrowingRows {
public:
    // Uses the plan's phase eval and the layout of batches that the configuration has. `filling`: what
    // shorter rows are filled up with. `ranks`: that have a part of each layer and do the same, or nullptr.
    // The plan and the model outlive it; weights must not change while it
    // lives.
    WholeRows(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
              std::int64_t filling, model::TensorRanks* ranks = nullptr);
    ~WholeRows() override;

    at::Tensor begin(const std::vector<Beginning>& rows) override;
    at::Tensor append(const std::vector<Ids>& tokens) override;
    void select(const std::vector<std::int64_t>& rows) override;
    void take_back(const std::vector<std::int64_t>& counts) override;

private:
    // After each of the last `count` tokens of each row, float32 [R, count, V].
    at::Tensor last_logits(std::int64_t count) const;

    const model::BoundPlan& plan_;
    const model::Model& model_;
    model::TensorRanks* ranks_;
    c10::DeviceType device_;
    LoaderParams params_;
    std::vector<Beginning> rows_;
};

}  // namespace switchyard::infer
