// What came out of the run, in one look.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/kernel/base/joined.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"

namespace switchyard::report {
namespace {

std::string fixed_share(double value) { return page_number(value, value < 0.1 ? 2 : 3); }

class Tiles {
public:
    void add(const std::string& name, const std::string& value, const std::string& detail) {
        html_ += "<div><dt>" + escape(name) + "</dt><dd><div class=\"value\">" + escape(value) + "</div>" +
                 (detail.empty() ? "" : "<div class=\"detail\">" + escape(detail) + "</div>") +
                 "</dd></div>\n";
    }
    std::string html() const { return html_.empty() ? "" : "<dl class=\"tiles\">\n" + html_ + "</dl>\n"; }

private:
    std::string html_;
};

// Of a run that has not ended: from what a logged step takes.
std::optional<double> expected_seconds(const RunRecord& run, double steps) {
    if (run.summary || !run.metrics || run.metrics->curve("step_ms").empty()) return std::nullopt;
    double sum = 0.0;
    const auto& times = run.metrics->curve("step_ms");
    for (const auto& point : times) sum += point.y;
    return sum / static_cast<double>(times.size()) * steps / 1000.0;
}

double last_step(const RunRecord& run) {
    double last = 0.0;
    if (run.metrics) {
        for (const auto& [name, points] : run.metrics->curves) {
            if (!points.empty()) last = std::max(last, points.back().x);
        }
    }
    return run.summary && run.summary->steps ? *run.summary->steps : last;
}

std::string status_html(const RunRecord& run) {
    const auto steps = page_number(last_step(run), 1) + (last_step(run) == 1.0 ? " step" : " steps");
    if (!run.summary)
        return "<span class=\"status bad\">has not finished</span>: no summary.json yet, " + steps +
               " logged";
    const auto& status = run.summary->status;
    if (status == "finished") return "<span class=\"status good\">finished</span> after " + steps;
    return "<span class=\"status bad\">" + escape(status.empty() ? "unknown outcome" : status) +
           "</span> after " + steps;
}

std::string metric_title(const std::string& name) {
    constexpr std::pair<const char*, const char*> titles[] = {
        {"mse", "Mean squared error"},
        {"rmse", "Root of mean squared error"},
        {"mae", "Mean absolute error"},
        {"pearson", "Pearson's r"},
        {"spearman", "Spearman's rank correlation"},
        {"r2", "R²"},
        {"micro_f1", "F1 over all labels"},
        {"macro_f1", "F1, mean of the labels"},
        {"macro_precision", "Precision, mean of the labels"},
        {"macro_recall", "Recall, mean of the labels"},
        {"mcc", "Matthews correlation"},
        {"exact_match", "All labels right"},
        {"label_accuracy", "Labels right"},
        {"entity_f1", "F1 of entities"},
        {"entity_precision", "Precision of entities"},
        {"entity_recall", "Recall of entities"}};
    for (const auto& [key, title] : titles)
        if (name == key) return title;
    return name;
}

void add_quality(const RunRecord& run, Tiles& tiles) {
    const auto last = [&](const char* name) -> std::optional<double> {
        if (!run.metrics || run.metrics->curve(name).empty()) return std::nullopt;
        return run.metrics->curve(name).back().y;
    };
    const bool done = run.summary.has_value();
    const auto accuracy = done ? run.summary->eval_accuracy : last("eval_accuracy");
    const auto perplexity = done ? run.summary->eval_perplexity : last("eval_perplexity");
    const auto eval_loss = done ? run.summary->eval_loss : last("eval_loss");
    const auto train_loss = done ? run.summary->train_loss : last("loss");
    std::string held_out = done ? "" : "at the last evaluation";
    if (done && run.summary->eval_labels)
        held_out = "on " + page_number(*run.summary->eval_labels, 1) + " held-out labels";
    if (accuracy) tiles.add("Accuracy", fixed_share(*accuracy), held_out);
    if (perplexity) tiles.add("Perplexity", page_number(*perplexity), held_out);
    if (done) {
        for (const auto& [name, value] : run.summary->eval_metrics)
            if (name.find('/') == std::string::npos)
                tiles.add(metric_title(name), page_number(value), held_out);
    }
    if (eval_loss) tiles.add("Evaluation loss", page_number(*eval_loss), held_out);
    if (done && run.summary->best_step && run.summary->best_value)
        tiles.add("Best " + run.summary->best_metric, page_number(*run.summary->best_value),
                  "at step " + page_number(*run.summary->best_step, 1));
    if (train_loss)
        tiles.add("Training loss", page_number(*train_loss),
                  done ? "mean of the last tenth of steps" : "of the last logged step");
}

void add_time(const Summary& summary, Tiles& tiles) {
    if (!summary.wall_seconds) return;
    std::string detail;
    if (summary.train_seconds) detail = duration_text(*summary.train_seconds) + " of it in training steps";
    const double before =
        summary.steps.value_or(0.0) - summary.process_steps.value_or(summary.steps.value_or(0.0));
    if (before > 0.0) base::add_item(detail, "resumed after step " + page_number(before, 1), "; ");
    tiles.add("Wall time", duration_text(*summary.wall_seconds), detail);
}

void add_utilization(const Summary& summary, Tiles& tiles) {
    std::string detail;
    if (summary.peak_flops) {
        detail = "of the " + page_number(*summary.peak_flops / 1e9) + " GFLOP/s that were measured";
        if (!summary.peak_of.empty()) detail += " (" + summary.peak_of + ")";
    }
    tiles.add("Model FLOPs utilization", page_number(100.0 * *summary.mfu) + " %", detail);
}

void add_speed(const RunRecord& run, Tiles& tiles) {
    if (run.summary) {
        const auto& summary = *run.summary;
        if (summary.samples_per_second) {
            tiles.add("Samples per second", page_number(*summary.samples_per_second),
                      summary.tokens_per_second
                          ? page_number(*summary.tokens_per_second) + " tokens per second"
                          : "");
        }
        if (summary.mfu) add_utilization(summary, tiles);
        if (summary.step_ms) {
            tiles.add("Step time, median", page_number(summary.step_ms->median) + " ms",
                      "95 % interval " + page_number(summary.step_ms->low) + " to " +
                          page_number(summary.step_ms->high) + " ms");
        }
    }
    if (run.summary) add_time(*run.summary, tiles);
    if (const auto seconds = expected_seconds(run, last_step(run)))
        tiles.add("Time in training steps", duration_text(*seconds), "about: steps times their mean time");
    if (run.summary && run.summary->peak_bytes)
        tiles.add("Peak memory", bytes_text(*run.summary->peak_bytes), "of tensors");
}

std::string notice(const std::string& text) {
    return "<p class=\"notice\">" + escape(shortened(text, 4000)) + "</p>\n";
}

std::string notices(const RunRecord& run) {
    std::string html;
    if (run.summary && !run.summary->error.empty()) html += notice(run.summary->error);
    if (run.summary && run.summary->skipped_steps.value_or(0.0) > 0.0)
        html += notice(page_number(*run.summary->skipped_steps, 1) +
                       " steps were skipped, for their gradients were not finite.");
    if (run.metrics && run.metrics->bad_losses > 0) {
        html += notice("The training loss was not finite in " + std::to_string(run.metrics->bad_losses) +
                       " logged steps, first in step " + page_number(run.metrics->first_bad_loss, 1) + ".");
    }
    if (run.metrics && run.metrics->cut_off)
        html += notice("The last line of metrics.jsonl was still being written and is left out.");
    return html;
}

std::string name_of(const std::string& folder) {
    std::error_code ignored;
    auto path = std::filesystem::absolute(folder, ignored).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    return path.filename().string();
}

}  // namespace

std::string title_of(const RunRecord& run) {
    std::string title = name_of(run.folder), what;
    for (const auto& part : {run.configured("model", "type"), run.configured("task", "kind")}) {
        if (!part.empty()) base::add_item(what, part);
    }
    return what.empty() ? title : title + ": " + what;
}

std::string verdict_section(const RunRecord& run) {
    Tiles tiles;
    add_quality(run, tiles);
    add_speed(run, tiles);
    std::string data;
    if (run.summary) {
        for (const auto& [name, value] : run.summary->rows)
            data += "<br/>" + escape(name) + ": " + escape(value);
    }
    return "<header>\n<h1>" + escape(title_of(run)) + "</h1>\n<p class=\"lead\">This run " +
           status_html(run) + ".</p>\n" + notices(run) + tiles.html() +
           (data.empty() ? "" : "<p class=\"muted\">" + data.substr(5) + "</p>\n") + "</header>\n";
}

}  // namespace switchyard::report
