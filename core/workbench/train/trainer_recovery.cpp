// What training does about a step in which something was not finite.
#include "core/kernel/base/number_text.h"
#include "core/workbench/train/trainer.h"

namespace switchyard::train {

// Goes back to the newest checkpoint, but for the data. An error text if that cannot be.
std::string Trainer::rewind(const StepReport& report, const TrainerHooks& hooks, TrainingResult& result) {
    const auto most = parts_.config.train.max_rewinds;
    if (now_.rewinds >= most) {
        return "; the run was rewound " + std::to_string(now_.rewinds) +
               (now_.rewinds == 1 ? " time" : " times") + " before, train.max_rewinds allows no more";
    }
    if (!hooks.reload) return "; there is no checkpoint to rewind to";
    if (divided_) divided_->expect_values();
    auto loaded = hooks.reload();
    if (!loaded.state) return "; cannot rewind: " + loaded.error;
    if (ranks_) ranks_->from_first("reloaded", "");  // others may read it more slowly
    const auto counted = now_;
    restore(*loaded.state);
    parts_.train_loader.seek(counted.loader);
    now_.loader = counted.loader;
    now_.rewinds = counted.rewinds + 1;
    now_.nonfinite_steps = counted.nonfinite_steps;
    best_.forget_from(now_.step + 1);
    result.rewinds.push_back({report.step, now_.step, report.nonfinite});
    if (!hooks.on_rewind) return "";
    const auto error = hooks.on_rewind(result.rewinds.back());
    return error.empty() ? "" : "; " + error;
}

// No finite gradient asks for so small a loss scale, after so many steps in a row that were skipped: what is
// not finite then is so without it. A scale that did not fall in so many will not help either.
void Trainer::doubt_scale(StepReport& report) {
    constexpr std::int64_t many = 50;
    constexpr double small = 1e-4;
    const double scale = parts_.plan.precision().loss_scale();
    if (overflows_++ == 0 || scale < lowest_scale_) {
        lowest_scale_ = scale;
        at_lowest_ = 0;
    }
    const bool stuck = ++at_lowest_ >= many;
    if (overflows_ < many || (scale > small && !stuck)) return;
    const auto what = nonfinite_of_all();
    if (what.empty()) return;
    report.nonfinite = std::to_string(overflows_) + " steps in a row were skipped, " +
                       (scale > small ? "and the loss scale stays at " + base::scientific(scale)
                                      : "whatever the loss scale") +
                       ": " + what;
    report.skipped = parts_.config.train.nonfinite == config::Nonfinite::skip;
}

// Does training go on after a step in which something was not finite?
bool Trainer::survives(const StepReport& report, const TrainerHooks& hooks, TrainingResult& result) {
    if (report.skipped && !report.traced) return true;
    std::string why;
    if (!report.traced && parts_.config.train.nonfinite == config::Nonfinite::rewind) {
        why = rewind(report, hooks, result);
        if (why.empty()) return true;
    }
    result.numerics = true;
    if (report.traced) {
        result.error = "step " + std::to_string(report.step) + ": " + report.nonfinite;
        return false;
    }
    result.error = report.nonfinite + " at step " + std::to_string(report.step) + why +
                   ": lower optimizer.lr, raise train.warmup_ratio, or look with `switchyard diagnose`; "
                   "`switchyard train` with --resume --trace-nonfinite names the layer and operation";
    return false;
}

}  // namespace switchyard::train
