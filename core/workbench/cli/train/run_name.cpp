#include "core/workbench/cli/train/run_name.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checksums.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

bool is_there(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

// As the value of an override. JSON writes strings as TOML does, but leaves more as it is.
std::string toml_string(const std::string& text) { return base::printable(nlohmann::json(text).dump()); }

constexpr const char* expected_run = "expected the folder of a run, as `switchyard train --run` writes it";

// With `or_model` in the words for what may be a folder of Hugging Face's as well.
void check_run(const std::string& folder, bool or_model) {
    std::string fault;
    if (!is_there(folder))
        fault = "there is no such folder";
    else if (!is_folder(folder))
        fault = "is not a folder";
    else if (is_there(folder + "/" + model::adapter_config_file))
        fault = "is an adapter, of which `switchyard merge` makes a whole model";
    else if (!is_there(folder + "/config.toml"))
        fault = or_model ? "has no config.toml and no config.json" : "has no config.toml";
    if (fault.empty()) return;
    throw Failure(
        folder + ": error: " + fault + "; " + expected_run +
        (or_model ? ", or a Hugging Face folder, with config.json, model.safetensors and a tokenizer" : ""));
}

// Of RUN@WHICH.
class CheckpointOf {
public:
    CheckpointOf(const std::string& name, std::size_t at)
        : name_(name), run_(name.substr(0, at)), which_(name.substr(at + 1)) {}

    NamedRun find() const {
        if (is_model_folder(run_))
            throw Failure(name_ + ": error: " + run_ +
                          " is a Hugging Face folder, which has no checkpoints; expected " + run_);
        check_run(run_, false);
        const auto step = which_ == "best" ? best() : which_ == "last" ? last() : numbered();
        const auto all = train::checkpoints_in(folder());
        const auto found = all.find(step);
        if (found == all.end()) refuse("there is no checkpoint of step " + std::to_string(step));
        const auto weights = train::weights_of(found->second);
        if (!weights.fault.empty()) throw Failure(found->second + ": error: " + weights.fault);
        return {run_, weights.path, "", true};
    }

private:
    std::string folder() const { return train::RunDirectory(run_).checkpoints(); }

    // Throws Failure, with what there is.
    [[noreturn]] void refuse(const std::string& why) const {
        std::string known;
        for (const auto& [step, path] : train::checkpoints_in(folder()))
            base::add_item(known, run_ + "@step-" + std::to_string(step));
        throw Failure(name_ + ": error: " + why + "; " +
                      (known.empty() ? run_ + " has no checkpoint" : "expected one of " + known));
    }

    std::int64_t best() const {
        const auto marked = train::read_best(folder());
        if (!marked) refuse("the run has no best checkpoint, which train.keep_best keeps");
        return marked->step;
    }

    std::int64_t last() const {
        const auto all = train::checkpoints_in(folder());
        if (all.empty()) refuse("there is no last checkpoint");
        return all.rbegin()->first;
    }

    std::int64_t numbered() const {
        const auto step = train::checkpoint_step(which_);
        if (!step) refuse("expected " + run_ + "@best, " + run_ + "@last or " + run_ + "@step-N");
        return *step;
    }

    const std::string& name_;
    std::string run_, which_;
};

// Whether the run has been gone on with since it left its model and has not ended again. One that says
// nothing of its end ended with its model.
bool went_on(const train::RunDirectory& run) {
    const auto newest = train::newest_checkpoint(run.checkpoints());
    const auto summary = base::parse_json(base::text_if_readable(run.file("summary.json"))).value;
    const auto status = base::text_of(summary, "status");
    if (!newest || status.empty()) return false;
    const auto steps = base::integer_of(base::member(summary, "steps"));
    return status != "finished" || (steps && train::checkpoint_step(*newest) > steps);
}

// Where the @ of RUN@WHICH stands; npos: it is no such name, or something of that name is there.
std::size_t at_sign(const std::string& name) {
    const auto at = name.rfind('@');
    const bool in_folder = at != std::string::npos && name.find('/', at) != std::string::npos;
    return in_folder || is_there(name) ? std::string::npos : at;
}

}  // namespace

bool names_run(const std::string& name) {
    if (is_folder(name) || gguf::is_gguf_file(name)) return true;
    const auto at = at_sign(name);
    return at != std::string::npos && is_folder(name.substr(0, at));
}

NamedRun find_run(const std::string& name) {
    if (const auto at = at_sign(name); at != std::string::npos) return CheckpointOf(name, at).find();
    if (is_model_folder(name)) return {name, name, "", false};
    check_run(name, true);
    const auto whole = name + "/model";
    const train::RunDirectory directory(name);
    const bool has_checkpoint = train::newest_checkpoint(directory.checkpoints()).has_value();
    const bool has_model = is_there(whole + "/" + train::weights_file) && !went_on(directory);
    if (has_model || !has_checkpoint) return {name, whole, "", true};
    const auto last = name + "@last";
    auto run = CheckpointOf(last, name.size()).find();
    run.note = name + " has not finished: using its newest checkpoint, " +
               fs::path(run.weights).parent_path().filename().string() + "\n";
    return run;
}

JobOptions job_of_run(const NamedRun& run, const JobOptions& given) {
    if (!run.is_run) return job_of_folder(run.folder, given);
    JobOptions job{run.folder + "/config.toml",
                   given.overrides,
                   {{run.folder, "train.weights=" + toml_string(run.weights)}},
                   given.trust,
                   true};
    // The adapters of a run are in the weights of its checkpoints, and merged into those of its model.
    job.implied.push_back({run.folder, "lora.from=\"\""});
    if (run.weights == run.folder + "/model") job.implied.push_back({run.folder, "lora.rank=0"});
    const train::RunDirectory directory(run.folder);
    for (const auto& kept : {directory.tokenizer(), directory.vocabulary()}) {
        if (!is_there(kept)) continue;
        job.implied.push_back({run.folder, "data.vocabulary=" + toml_string(kept)});
        return job;
    }
    // A run of bytes read no vocabulary, even where one was named.
    const auto looked = first_look(job);
    if (looked && looked->data.tokenizer == config::TokenizerKind::bytes)
        job.implied.push_back({run.folder, "data.vocabulary=\"\""});
    return job;
}

}  // namespace switchyard::cli
