// What `switchyard init` makes of a file of data: which task it is for, with which columns, and the
// configuration that says so, with a comment on each choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/model_config.h"
#include "core/kernel/config/task_config.h"
#include "core/workbench/data/table_facts.h"

namespace switchyard::cli {

struct DraftRequest {
    std::vector<std::string> files;    // as the configuration is to name them
    std::vector<std::string> targets;  // with the other side of each line; seq2seq
    std::string from;                  // folder of a model of Hugging Face's; empty: a small new one
    config::ModelConfig model;         // that it has
    std::vector<std::string> labels;   // that it tells apart
    data::TableFacts facts;            // of the first file
};

struct JobDraft {
    config::TaskKind task = config::TaskKind::causal_lm;
    std::string text_column, pair_column, label_column, target_column;
    std::vector<std::string> labels;
    std::vector<std::string> reasons;  // why it is that, a sentence each
};

// Throws Failure where a file and a model do not go together.
JobDraft draft_job(const DraftRequest& request);

// The configuration as TOML.
std::string to_toml(const JobDraft& draft, const DraftRequest& request);

}  // namespace switchyard::cli
