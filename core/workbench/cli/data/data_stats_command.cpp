// switchyard data stats CONFIG
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/data_loader_op.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job_loader.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/data/length_statistics.h"
#include "core/workbench/train/job_data.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

struct StatsOptions {
    JobOptions job;
    JsonOption json;
};

// Samples of nothing but their lengths, by which loaders compose their batches.
class LengthsAlone final : public SampleSource {
public:
    explicit LengthsAlone(std::shared_ptr<const SampleSource> samples) : samples_(std::move(samples)) {}
    std::int64_t size() const override { return samples_->size(); }
    std::int64_t length(std::int64_t index) const override { return samples_->length(index); }
    std::int64_t target_length(std::int64_t index) const override { return samples_->target_length(index); }
    Sample get(std::int64_t index, std::int64_t) const override {
        const auto target = target_length(index);
        Sample sample;
        sample.ids.resize(static_cast<std::size_t>(length(index) - target));
        sample.target_ids.resize(static_cast<std::size_t>(target));
        return sample;
    }

private:
    std::shared_ptr<const SampleSource> samples_;
};

struct Epoch {
    std::string loader, error;
    bool chosen = false;
    Layout layout = Layout::padded;
    std::int64_t batches = 0, samples = 0, tokens = 0, places = 0, largest = 0;
};

// A whole epoch, made.
Epoch run_epoch(const resolver::PlanRow& row, LoaderJob& job, std::shared_ptr<const SampleSource> samples,
                std::int64_t pad) {
    Epoch epoch;
    epoch.loader = row.use.config.backend.empty() ? "" : row.use.config.backend.front();
    epoch.error = row.error;
    if (!row.chosen) return epoch;
    epoch.loader = row.chosen->plugin + "/" + row.chosen->component;
    epoch.layout = row.chosen->request->layout;
    auto params = train::loader_params(job.config, pad, true);
    params.layout = epoch.layout;
    const auto loader = runtime::bind<runtime::DataLoaderOp>(row, *job.registry, job.host);
    loader.start(std::move(samples), params);
    std::int64_t before = 0;
    for (Batch batch; loader.next(batch);) {
        epoch.largest = std::max(epoch.largest, loader.stats().places - before);
        before = loader.stats().places;
    }
    const auto& stats = loader.stats();
    epoch.batches = stats.batches;
    epoch.samples = stats.samples;
    epoch.tokens = stats.tokens;
    epoch.places = stats.places;
    return epoch;
}

double padding(const Epoch& epoch) {
    return epoch.places == 0
               ? 0.0
               : static_cast<double>(epoch.places - epoch.tokens) / static_cast<double>(epoch.places);
}

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

void print_lengths(const std::string& name, const data::LengthStatistics& lengths) {
    std::cout << name << ": " << counted(lengths.samples, "sample") << ", " << lengths.tokens << " tokens";
    if (lengths.samples == 0) {
        std::cout << '\n';
        return;
    }
    std::cout << "; lengths " << lengths.shortest << " to " << lengths.longest << ", mean "
              << fixed(lengths.mean(), 1) << ", half at most " << lengths.median << ", 90 % at most "
              << lengths.percent_90 << ", 99 % at most " << lengths.percent_99 << '\n';
    for (const auto& line : data::histogram_lines(lengths)) std::cout << "    " << line << '\n';
}

void print_epochs(const std::vector<Epoch>& epochs, const config::Config& config) {
    std::cout << "\nan epoch of training by each data loader (batch.size " << config.batch.size;
    if (config.batch.tokens > 0) std::cout << ", batch.tokens " << config.batch.tokens;
    std::cout << ", at most " << config.batch.max_length << " tokens a sample; * is the job's)\n";
    Table table(
        {"loader", "layout", "batches", "samples", "tokens", "padding", "tokens a batch", "largest batch"});
    for (const auto& epoch : epochs) {
        if (!epoch.error.empty()) {
            table.row({epoch.loader, "-", "-", "-", "-", "-", "-", "-"});
            table.note(epoch.error, Color::dim);
            continue;
        }
        const auto batches = std::max<std::int64_t>(1, epoch.batches);
        table.row({epoch.loader + (epoch.chosen ? " *" : ""), std::string(name(epoch.layout)),
                   std::to_string(epoch.batches), std::to_string(epoch.samples), std::to_string(epoch.tokens),
                   fixed(100.0 * padding(epoch), 1) + " %", std::to_string(epoch.tokens / batches),
                   std::to_string(epoch.largest)});
    }
    std::cout << table.render();
}

ordered_json lengths_json(const data::LengthStatistics& lengths) {
    ordered_json bins = ordered_json::array();
    for (const auto& bin : lengths.bins)
        bins.push_back({{"from", bin.from}, {"to", bin.to}, {"samples", bin.samples}});
    return {{"samples", lengths.samples},       {"tokens", lengths.tokens},
            {"shortest", lengths.shortest},     {"longest", lengths.longest},
            {"mean", lengths.mean()},           {"median", lengths.median},
            {"percent_90", lengths.percent_90}, {"percent_99", lengths.percent_99},
            {"histogram", std::move(bins)}};
}

ordered_json epoch_json(const Epoch& epoch) {
    if (!epoch.error.empty()) return {{"loader", epoch.loader}, {"error", epoch.error}};
    return {{"loader", epoch.loader},          {"chosen", epoch.chosen},
            {"layout", name(epoch.layout)},    {"batches", epoch.batches},
            {"samples", epoch.samples},        {"tokens", epoch.tokens},
            {"padding_share", padding(epoch)}, {"largest_batch", epoch.largest}};
}

int show_stats(const StatsOptions& options) {
    const auto job = loader_job(options.job);
    const auto tokenizer = train::open_tokenizer(job->config);
    const auto splits = train::read_data(job->config, tokenizer);
    for (const auto& warning : splits.warnings) std::cerr << "warning: " << warning << '\n';
    const auto train = data::length_statistics(*splits.train), eval = data::length_statistics(*splits.eval);
    const auto lengths = std::make_shared<LengthsAlone>(splits.train);
    const auto chosen = chosen_loader(*job);
    std::vector<Epoch> epochs;
    for (const auto& row : all_loaders(*job)) {
        epochs.push_back(run_epoch(row, *job, lengths, tokenizer->filling()));
        epochs.back().chosen = row.chosen && row.chosen->plugin == chosen.chosen->plugin &&
                               row.chosen->component == chosen.chosen->component;
    }
    auto loaders = ordered_json::array();
    for (const auto& epoch : epochs) loaders.push_back(epoch_json(epoch));
    write_json(options.json, {{"train", lengths_json(train)},
                              {"eval", lengths_json(eval)},
                              {"also_in_train", splits.also_in_train},
                              {"loaders", std::move(loaders)}});
    if (options.json.on_stdout()) return Exit::fine;
    print_lengths("training", train);
    print_lengths("evaluation", eval);
    for (const auto& source : splits.sources)
        std::cout << source.name << ": " << source.drawn << " samples in an epoch, of " << source.samples
                  << " that it has\n";
    if (splits.also_in_train > 0)
        std::cout << splits.also_in_train << " of the texts to evaluate on are also learnt from\n";
    print_epochs(epochs, job->config);
    return Exit::fine;
}

}  // namespace

Action setup_data_stats(CLI::App& command) {
    const auto options = std::make_shared<StatsOptions>();
    add_job_options(command, options->job);
    add_json(command, options->json);
    return [options] { return show_stats(*options); };
}

}  // namespace switchyard::cli
