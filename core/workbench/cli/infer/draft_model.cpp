#include "core/workbench/cli/infer/draft_model.h"

#include <algorithm>
#include <iostream>
#include <string_view>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/value.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/infer/generation_plan.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/train/run_name.h"

namespace switchyard::cli {
namespace {

JobOptions job_of_draft(const NamedRun& run, const config::Config& large, bool trust) {
    JobOptions given;
    given.trust = trust;
    auto job = job_of_run(run, given);
    const auto imply = [&](const std::string& key, const std::string& value) {
        job.implied.push_back({"--draft", key + "=" + value});
    };
    imply("batch.min_length", "1");  // a text grows from one token
    imply("runtime.threads", std::to_string(large.runtime.threads));
    imply("runtime.allocator", config::toml_string(switchyard::name(large.runtime.allocator)));
    imply("run.device", config::toml_string(switchyard::name(large.run.device)));
    return job;
}

std::string shown(const std::string& text) { return "'" + base::quoted(text) + "'"; }

}  // namespace

std::string tokenizer_difference(const data::Tokenizer& one, const data::Tokenizer& other) {
    if (one.size() != other.size())
        return "has " + std::to_string(other.size()) + " tokens, not " + std::to_string(one.size());
    for (std::int64_t id = 0; id < one.size(); ++id) {
        const auto ours = one.decode({id}), theirs = other.decode({id});
        if (ours != theirs)
            return "has " + shown(theirs) + " as token " + std::to_string(id) + ", not " + shown(ours);
    }
    const auto &a = one.specials(), &b = other.specials();
    if (a.bos != b.bos || a.eos != b.eos || a.pad != b.pad) return "has other special tokens";
    return "";
}

DraftModel::DraftModel(const std::string& name, const train::Session& large, bool trust, std::int64_t tokens,
                       const infer::RowsOptions& rows) {
    const auto refuse = [&](const std::string& why) { throw Failure("--draft: error: " + name + " " + why); };
    const auto run = find_run(name);
    std::cerr << run.note;
    PlanOptions options;
    options.restart = Restart::refused;
    planned_ = plan_generation(job_of_draft(run, large.config(), trust), rows.cached, options);
    const auto kind = large.config().task.kind;
    if (planned_->config.task.kind != kind)
        refuse("was trained for " + std::string(switchyard::name(planned_->config.task.kind)) +
               "; expected a smaller model for " + std::string(switchyard::name(kind)));
    session_ = std::make_unique<train::Session>(planned_->config, planned_->plan, *planned_->registry,
                                                planned_->host);
    session_->load_tokenizer();
    if (const auto difference = tokenizer_difference(large.tokenizer(), session_->tokenizer());
        !difference.empty())
        refuse("has another tokenizer: it " + difference +
               "; expected a model of the same tokens, whose drafts the larger one can read");
    session_->load_initial_weights();
    tell_unused(*session_);
    if (is_model_folder(name)) require_head(*session_);
    if (const auto problem = infer::model_problem(session_->config(), session_->tokenizer());
        !problem.empty())
        refuse("cannot draft: " + problem);
    auto draft_rows = rows;
    draft_rows.limits.length = std::min(rows.limits.length, session_->config().batch.max_length);
    rows_ = infer::make_rows(session_->config(), session_->plan(), session_->model(), session_->tokenizer(),
                             draft_rows);
    draft_ =
        std::make_unique<infer::Draft>(infer::Draft{*rows_, session_->config().batch.max_length, tokens});
}

}  // namespace switchyard::cli
