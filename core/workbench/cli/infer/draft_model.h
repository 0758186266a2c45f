// --draft: a smaller model of the same tokens, which drafts what a larger one then looks at.
#pragma once

#include <memory>
#include <string>

#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

class DraftModel {
public:
    // `name`: of a run or of a Hugging Face folder. Runs as `large` does: on its threads, with its allocator.
    // `trust`: as of --trust. Throws Failure for a model that cannot write, has another task or another
    // tokenizer.
    DraftModel(const std::string& name, const train::Session& large, bool trust, std::int64_t tokens,
               const infer::RowsOptions& rows);

    const infer::Draft& draft() const { return *draft_; }
    const train::Session& session() const { return *session_; }

private:
    std::unique_ptr<PlannedJob> planned_;
    std::unique_ptr<train::Session> session_;
    std::unique_ptr<infer::GrowingRows> rows_;
    std::unique_ptr<infer::Draft> draft_;
};

// In what `other` differs from `one`, to be put behind "it"; empty: each number stands for the same text in
// both.
std::string tokenizer_difference(const data::Tokenizer& one, const data::Tokenizer& other);

}  // namespace switchyard::cli
