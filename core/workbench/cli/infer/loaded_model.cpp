#include "core/workbench/cli/infer/loaded_model.h"

#include "core/kernel/config/metric_names.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {

LoadedModel::LoadedModel(const JobOptions& options, const std::string& source, bool settled, Restart restart)
    : planned_(plan_job(options, {.purpose = Purpose::inference, .restart = restart})),
      session_(planned_->config, planned_->plan, *planned_->registry, planned_->host) {
    const auto& config = session_.config();
    if (config.task.kind == config::TaskKind::regression && config.task.standardize)
        scale_ =
            train::read_label_scale(train::RunDirectory(source).label_scale(), config::label_names(config));
    session_.load_tokenizer();
    session_.load_initial_weights(settled);
    tell_unused(session_);
}

std::shared_ptr<const SampleSource> LoadedModel::read_files(const std::vector<std::string>& files) {
    session_.load_eval_files({files, {}}, scale_);
    return session_.data().eval;
}

train::EvalResult LoadedModel::evaluate(std::shared_ptr<const SampleSource> samples, const char* what,
                                        const std::function<bool()>& stop) {
    auto progress = Progress::for_stderr();
    train::EvalHooks hooks;
    hooks.scale = scale_;
    hooks.stop = stop;
    hooks.progress = [&](std::int64_t done, std::int64_t total) {
        progress.show({what, done, total, 0.0, -1.0, 0.0});
    };
    const auto& loader = session_.start_eval_loader(std::move(samples));
    auto result = train::evaluate(session_.config(), session_.plan(), session_.model(), loader, hooks);
    progress.finish();
    return result;
}

}  // namespace switchyard::cli
