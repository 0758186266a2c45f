// switchyard generate RUN|FOLDER|CONFIG
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/infer/draft_model.h"
#include "core/workbench/cli/infer/generate_options.h"
#include "core/workbench/cli/infer/generation_output.h"
#include "core/workbench/cli/infer/generation_plan.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/nonfinite_logits.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

JobOptions job_of(const WriteOptions& options) {
    JobOptions job = options.job;
    job.config = options.run_or_config;
    if (names_run(options.run_or_config)) {
        const auto run = find_run(options.run_or_config);
        std::cerr << run.note;
        job = job_of_run(run, job);
    }
    job.implied.push_back({"generate", "batch.min_length=1"});  // a text grows from one token
    if (!options.weights.empty())
        job.implied.push_back(
            {"--weights", "train.weights=" + base::printable(nlohmann::json(options.weights).dump())});
    if (!options.draft.empty())  // what was drafted is looked at in one call
        job.implied.push_back({"--draft", "cache.step_tokens=" + std::to_string(options.draft_tokens + 1)});
    return job;
}

// What makes texts out of prompts and writes them.
class Writing {
public:
    Writing(const WriteOptions& options, const train::Session& session, train::StopSignal& stop)
        : options_(options), session_(session), stop_(stop), output_(options.output) {
        if (options.output.lines.replaces_file())
            stop_.note();  // so that what is written aside is taken away
        const auto& config = session.config();
        const auto& tokenizer = session.tokenizer();
        if (!reads_files()) check_prompt();
        auto asked = options.generate;
        asked.stop_tokens = stop_tokens_of(options, tokenizer);
        if (asked.beams > config.batch.size)
            throw Failure("--beam: error: " + std::to_string(asked.beams) +
                          " beams are more rows than batch.size lets through the model together, " +
                          std::to_string(config.batch.size) +
                          "; expected at most that, or --set batch.size=" + std::to_string(asked.beams));
        if (asked.beams > 0) asked.sampling.temperature = 0.0;
        const infer::RowsOptions rows{!options.no_cache, cache_limits()};
        rows_ = infer::make_rows(config, session.plan(), session.model(), tokenizer, rows);
        infer::GenerateHooks hooks;
        hooks.interrupted = [this] { return static_cast<bool>(stop_); };
        if (options.output.stream)
            hooks.piece = [this](const std::string& text, bool last) { output_.piece(text, last); };
        generator_.emplace(config, tokenizer, *rows_, asked, hooks);
        if (options.draft.empty()) return;
        draft_.emplace(options.draft, session, options.job.trust, options.draft_tokens, rows);
        generator_->speculate_with(draft_->draft());
    }

    std::string problem(const std::string& prompt) const {
        return infer::prompt_problem(session_.config(), session_.tokenizer(), prompt);
    }

    // Prompts that fill a batch of the model, or one, where texts are to be seen as they come.
    std::size_t prompts_at_once() const {
        if (options_.output.stream) return 1;
        const auto& asked = options_.generate;
        const auto rows = asked.beams > 0 ? asked.beams : asked.samples;
        return static_cast<std::size_t>(std::max<std::int64_t>(session_.config().batch.size / rows, 1));
    }

    int one(const std::string& prompt) {
        write({prompt}, nullptr);
        finish();
        if (!stop_) return Exit::fine;
        std::cerr << "stopped: not all was generated\n";
        return stop_.exit_code();
    }

    // After each row of files of any size.
    int rows(TextRows& rows) {
        std::size_t written = 0;
        rows.read(
            prompts_at_once(), [&](const std::string& prompt) { return problem(prompt); },
            [&](const std::vector<TextRow>& batch) {
                std::vector<std::string> prompts;
                for (const auto& row : batch) prompts.push_back(row.given.text);
                empty_ += static_cast<std::size_t>(
                    std::ranges::count_if(prompts, [&](const auto& prompt) { return is_empty(prompt); }));
                written += write(prompts, &batch);
            },
            [&] { return static_cast<bool>(stop_); });
        finish();
        if (empty_ > 0)
            std::cerr << "warning: " + counted(empty_, "prompt") + (empty_ == 1 ? " is" : " are") +
                             " empty: " + infer::empty_prompt_note(session_.config()) + "\n";
        if (stop_) {
            std::cerr << "stopped after " + counted(written, "prompt") + ", whose texts are written\n";
            return stop_.exit_code();
        }
        rows.require_all_used();
        return Exit::fine;
    }

private:
    bool reads_files() const { return !options_.files.names.empty(); }

    void check_prompt() const {
        if (const auto fault = problem(options_.prompt); !fault.empty()) throw Failure(fault);
        const auto& config = session_.config();
        // Without a prompt a language model writes texts of its own.
        const bool own = !options_.prompt_given && config.task.kind == config::TaskKind::causal_lm;
        if (!own && is_empty(options_.prompt))
            std::cerr << "warning: the prompt is empty: " + infer::empty_prompt_note(config) + "\n";
    }

    bool is_empty(const std::string& prompt) const { return session_.tokenizer().encode(prompt).empty(); }

    // What the largest batch needs, so that what does not fit is told before the first token: with its
    // samples and beams, of the prompt that is known, or of the longest that files may have.
    model::CacheLimits cache_limits() const {
        const auto& config = session_.config();
        const auto& asked = options_.generate;
        const auto batch = config.batch.size, most = config.batch.max_length;
        model::CacheLimits limits;
        const bool one_by_one = options_.output.stream || !options_.draft.empty();
        const auto texts = one_by_one ? 1 : asked.beams > 0 ? asked.beams : std::min(asked.samples, batch);
        limits.begun = one_by_one || !reads_files() ? 1 : static_cast<std::int64_t>(prompts_at_once());
        limits.rows = limits.begun * texts;
        limits.added = asked.max_tokens;
        limits.length = most;
        if (config.task.kind == config::TaskKind::seq2seq) limits.source = most;
        if (reads_files()) return limits;
        const auto begun = infer::beginning_of(config, session_.tokenizer(), options_.prompt);
        if (asked.max_tokens > 0)
            limits.length = std::min(static_cast<std::int64_t>(begun.grown.size()) + asked.max_tokens, most);
        limits.source = static_cast<std::int64_t>(begun.source.size());
        return limits;
    }

    // All samples of each prompt, written as batches of the model are done; how many prompts have all of
    // theirs.
    std::size_t write(const std::vector<std::string>& prompts, const std::vector<TextRow>* rows) {
        const auto& output = options_.output;
        const auto& asked = options_.generate;
        const auto at_once = asked.beams > 0 || prompts.size() > 1 ? asked.samples
                             : options_.output.stream              ? 1
                                                                   : session_.config().batch.size;
        stop_.note();
        for (std::int64_t first = 0; first < asked.samples && !stop_; first += at_once) {
            const auto all = texts_of(prompts, first, std::min(at_once, asked.samples - first));
            for (std::size_t i = 0; i < all.size(); ++i) {
                output_.add(prompts[i], all[i], rows != nullptr ? &(*rows)[i] : nullptr);
            }
            output_.flush();
            if (stop_ && rows != nullptr)
                return static_cast<std::size_t>(std::ranges::count_if(all, [&](const auto& samples) {
                    return !is_cut(samples) && first + at_once >= asked.samples;
                }));
        }
        if (stop_) return 0;
        // What was printed is safe, and whoever waits for the next prompt can end it at once.
        if (!output.lines.replaces_file() && output.json.path.empty()) stop_.end_at_once();
        return prompts.size();
    }

    static bool is_cut(const std::vector<infer::GeneratedText>& samples) {
        return samples.empty() || std::ranges::any_of(samples, [](const auto& sample) {
                   return sample.end == infer::End::interrupted;
               });
    }

    std::vector<std::vector<infer::GeneratedText>> texts_of(const std::vector<std::string>& prompts,
                                                            std::int64_t first, std::int64_t count) {
        try {
            return generator_->generate(prompts, first, count);
        } catch (const infer::NonfiniteLogits& error) {
            std::vector<const train::Session*> models{&session_};
            if (draft_) models.push_back(&draft_->session());
            throw nonfinite_failure(error, models);
        }
    }

    void finish() {
        output_.finish(generator_->speed(), draft_ ? &generator_->speculation() : nullptr,
                       static_cast<bool>(stop_));
    }

    const WriteOptions& options_;
    const train::Session& session_;
    train::StopSignal& stop_;
    GenerationOutput output_;
    std::unique_ptr<infer::GrowingRows> rows_;
    std::optional<infer::Generator> generator_;
    std::optional<DraftModel> draft_;
    std::size_t empty_ = 0;  // prompts of files
};

int write(WriteOptions options) {
    train::StopSignal stop;
    options.output.scores = options.generate.beams > 0;
    options.prompt = prompt_of(options);
    if (!options.prompts.empty()) options.files = {{options.prompts}, "text", "", ""};
    const auto planned = plan_generation(job_of(options), !options.no_cache);
    const auto& config = planned->config;
    if (config.train.weights.empty())
        throw Failure(options.run_or_config +
                      ": names no weights, and an untrained model generates only noise; give the folder of "
                      "a run, or weights with --weights");
    // Texts that are printed show how far it is.
    const bool seen = options.output.prints_texts() && ::isatty(STDOUT_FILENO) == 1;
    std::optional<TextRows> rows;
    if (!options.files.names.empty()) rows.emplace(options.files, config, false, "generate", !seen);
    train::Session session(config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_initial_weights();
    tell_unused(session);
    if (is_model_folder(options.run_or_config)) require_head(session);
    if (const auto problem = infer::model_problem(config, session.tokenizer()); !problem.empty())
        throw Failure(problem);
    Writing writing(options, session, stop);
    return rows ? writing.rows(*rows) : writing.one(options.prompt);
}

}  // namespace

Action setup_generate(CLI::App& command) {
    const auto options = std::make_shared<WriteOptions>();
    add_generate_options(command, *options);
    return [options, &command] {
        check_together(command, *options);
        options->prompt_given = command.count("--prompt") > 0;
        return write(*options);
    };
}

}  // namespace switchyard::cli
