// A trained model that is evaluated, on samples of whatever came first: its own data, or files.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/train/evaluate.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

class LoadedModel {
public:
    // Plans the job for inference and loads tokenizer and weights. `source`: the folder of a regression's
    // scale. `settled`: nobody reads the weights again (Session::load_initial_weights). Throws Failure and
    // InputError.
    LoadedModel(const JobOptions& options, const std::string& source, bool settled, Restart restart);

    train::Session& session() { return session_; }
    const data::LabelScale& scale() const { return scale_; }

    // Throws InputError.
    std::shared_ptr<const SampleSource> read_files(const std::vector<std::string>& files);

    // `what`: begins the line that tells how far it is. Where `stop` says so, between batches, it ends with
    // what was evaluated by then.
    train::EvalResult evaluate(std::shared_ptr<const SampleSource> samples, const char* what,
                               const std::function<bool()>& stop = {});

private:
    std::unique_ptr<PlannedJob> planned_;
    data::LabelScale scale_;
    train::Session session_;
};

}  // namespace switchyard::cli
