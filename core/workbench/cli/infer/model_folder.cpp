#include "core/workbench/cli/infer/model_folder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/config/value.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/weights/huggingface_task.h"
#include "core/workbench/model/weights/unused_tensors.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

bool has_file(const std::string& folder, const char* name) {
    std::error_code ignored;
    return fs::exists(fs::path(folder) / name, ignored);
}

std::string scale_file(const std::string& folder) { return train::RunDirectory(folder).label_scale(); }

// The column whose numbers a regression learnt that names none in its labels; "" where the file does not say.
std::string scaled_column(const std::string& path) {
    const auto text = base::read_text(path);
    if (!text) return "";
    const auto object = base::parse_object(*text, path);
    const auto& columns = base::member(object, "columns");
    return columns.is_array() && columns.size() == 1 ? base::text_of(columns[0], "name") : "";
}

}  // namespace

bool is_model_folder(const std::string& folder) {
    if (gguf::is_gguf_file(folder)) return true;
    return has_file(folder, "config.json") && !has_file(folder, "config.toml");
}

bool has_label_scale(const std::string& folder) {
    std::error_code ignored;
    return fs::exists(scale_file(folder), ignored);
}

namespace {

config::TaskConfig task_in(const std::string& folder, model::Heads heads) {
    if (gguf::is_gguf_file(folder)) {
        config::TaskConfig task;
        task.kind = config::TaskKind::causal_lm;
        return task;
    }
    auto read = model::read_huggingface_task(folder + "/config.json", heads);
    if (!read.error.empty()) throw Failure(read.error);
    return std::move(read.task);
}

JobOptions job_of(const std::string& folder, const config::TaskConfig& task, const JobOptions& given) {
    const auto file = gguf::is_gguf_file(folder) ? folder : folder + "/config.json";
    const bool regression = task.kind == config::TaskKind::regression;
    const bool scaled = regression && has_label_scale(folder);
    JobOptions job{"", given.overrides, {}, given.trust, false};
    const auto imply = [&](const std::string& place, const std::string& key, const std::string& value) {
        job.implied.push_back({place, key + "=" + value});
    };
    imply(folder, "model.from", config::toml_string(folder));
    imply(file + ": architectures", "task.kind", config::toml_string(switchyard::name(task.kind)));
    imply(file + ": id2label", "task.labels", config::to_toml(task.labels));
    if (regression) imply(folder, "task.standardize", scaled ? "true" : "false");
    if (scaled && task.labels.empty())
        if (const auto column = scaled_column(scale_file(folder)); !column.empty())
            imply(scale_file(folder), "data.label_column", config::toml_string(column));
    return job;
}

}  // namespace

config::TaskConfig task_of_folder(const std::string& folder) {
    return task_in(folder, model::Heads::expected);
}

JobOptions job_of_folder(const std::string& folder, const JobOptions& given) {
    return job_of(folder, task_of_folder(folder), given);
}

JobOptions job_of_encoder(const std::string& folder, const JobOptions& given) {
    return job_of(folder, task_in(folder, model::Heads::optional), given);
}

void require_head(const train::Session& session) {
    const auto& weights = session.initial_weights();
    if (weights.fresh.empty()) return;
    constexpr std::size_t told = 4;
    const std::vector<std::string> first(
        weights.fresh.begin(),
        weights.fresh.begin() + static_cast<std::ptrdiff_t>(std::min(told, weights.fresh.size())));
    throw Failure(
        weights.file + ": error: has no tensor for " + base::joined(first) +
        (weights.fresh.size() > told ? ", ..." : "") + ", the head of " +
        std::string(switchyard::name(session.config().task.kind)) +
        ": it would answer by chance; expected the weights of a model that was trained for the task");
}

void tell_unused(const train::Session& session) {
    const auto& weights = session.initial_weights();
    const auto line = model::unused_line(weights.file, weights.unused);
    for (const auto& one : {line, weights.index_note})
        if (!one.empty()) std::cerr << "warning: " + one + "\n";
}

}  // namespace switchyard::cli
