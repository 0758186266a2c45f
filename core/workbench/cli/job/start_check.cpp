#include "core/workbench/cli/job/start_check.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/shadow_checks.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/resolver/resolver.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/label_columns.h"
#include "core/workbench/data/labelled_tokens.h"
#include "core/workbench/data/store/token_folder.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/weights/weights_place.h"
#include "core/workbench/train/parameter_groups.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t rows_looked_at = 1000;  // of each file

std::vector<resolver::Candidate> candidates_of(const std::vector<loader::PluginRecord>& records) {
    std::vector<resolver::Candidate> list;
    for (const auto& record : records) {
        if (!record.manifest) continue;
        for (const auto& component : record.manifest->components) {
            resolver::Candidate candidate;
            candidate.plugin = record.manifest->name;
            candidate.manifest = component;
            candidate.usable = record.failure() == nullptr;
            if (!candidate.usable) candidate.obstacle.got = loader::explain(record);
            const auto* const trust = record.trust_of(component.kind, component.id);
            if (candidate.usable && trust != nullptr && trust->refusal) {
                candidate.usable = false;
                candidate.obstacle.got = trust->refusal->reason + "; " + trust->refusal->hint;
            }
            list.push_back(std::move(candidate));
        }
    }
    return list;
}

class StartCheck {
public:
    explicit StartCheck(const config::Config& config) : config_(config) {}

    std::vector<std::string> of_training(const std::vector<loader::PluginRecord>& records) {
        check_backends(records);
        check_model();
        add(config::log_command_problem(config_));
        check_inputs(Reading::to_train);
        return std::move(problems_);
    }

    std::vector<std::string> of_inputs(Reading reading) {
        check_model();
        if (reading != Reading::nothing) check_inputs(reading);
        return std::move(problems_);
    }

private:
    void check_model() {
        add(config::labels_problem(config_));
        for (const auto& problem : train::name_problems(config_)) add(problem);
        check_weights();
    }

    void check_inputs(Reading reading) {
        if (!config_.data.given()) return;  // nothing to train on: a plan, a benchmark
        if (reading == Reading::to_train) add(config::phases_problem(config_));
        const auto before = problems_.size();
        check_vocabulary();
        if (before == 0) check_data();
    }

    // What is quoted of the configuration and of files begins no line of its own.
    void add(std::string problem) {
        problem = base::printable(problem);
        if (!problem.empty() && told_.insert(problem).second) problems_.push_back(std::move(problem));
    }
    void add(const char* key, const std::string& problem) { add(config::told_at(config_, key) + problem); }

    void check_backends(const std::vector<loader::PluginRecord>& records) {
        const auto candidates = candidates_of(records);
        auto uses = model::outline(config_, model::configured_dtypes(config_));
        uses.push_back(model::outline_precision(config_));
        for (const auto& use : uses) {
            const auto at = config::to_string(use.origin) + ": error: " + use.key() + ": ";
            check_names(use.kind, use.config.backend, at, candidates);
        }
        for (const Kind kind : config::shadowed_kinds)
            check_names(kind, config_.slot(kind).shadow.backend,
                        config::told_at(config_, config::shadow_key(kind)), candidates);
    }

    void check_names(Kind kind, const std::vector<std::string>& backends, const std::string& place,
                     const std::vector<resolver::Candidate>& candidates) {
        for (const auto& backend : backends) {
            if (backend == "auto") continue;
            const auto named = resolver::find_named(kind, backend, candidates);
            if (named.candidate == nullptr)
                add(place + named.error);
            else if (!named.candidate->usable)
                add(place + backend + " cannot be used: " + named.candidate->obstacle.got);
        }
    }

    void check_weights() {
        if (config_.train.weights.empty()) return;
        const auto place = model::find_weights(config_.train.weights);
        if (!place.problem.empty()) add("train.weights", place.problem);
    }

    void check_vocabulary() {
        const auto missing = config::vocabulary_problem(config_);
        add(missing);
        const auto& data = config_.data;
        using Kind = config::TokenizerKind;
        if (data.tokenizer == Kind::smiles && data.vocabulary.empty()) return;  // made of the data
        if (!missing.empty() || is_pipe(data.vocabulary)) return;
        auto opened = data::open_tokenizer(data, config_.train.weights);
        const auto* const key = *opened.key != '\0' ? opened.key : "data.tokenizer";
        for (const auto& problem : opened.problems) add(key, problem);
        tokenizer_ = std::move(opened.tokenizer);
        if (!tokenizer_) return;
        add(config::vocabulary_size_problem(config_, tokenizer_->size()));
        const auto lack = data::missing_special(*tokenizer_, config_.task.kind, "the tokenizer");
        if (!lack.empty()) add(key, lack);
    }

    // What is read from a pipe here is gone for good.
    static bool is_pipe(const std::string& path) {
        std::error_code ignored;
        return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) &&
               !fs::is_directory(path, ignored);
    }

    void check_data() {
        const auto& data = config_.data;
        const bool pairs = config_.task.kind == config::TaskKind::seq2seq &&
                           data.targets != config::Targets::spans && data.target_column.empty();
        for (const auto& [key, paths, targets] : {std::tuple("data.train", &data.train, &data.target_train),
                                                  std::tuple("data.eval", &data.eval, &data.target_eval)}) {
            if (pairs && paths->size() != targets->size())
                add(key, "expected one file of answers (target_train, target_eval) for each of its " +
                             std::to_string(paths->size()) + ", got " + std::to_string(targets->size()));
            for (const auto& path : *paths) check_path(key, path, pairs);
            if (std::string_view(key) == "data.train") check_sources();
            if (std::string_view(key) == "data.train" && looked_at_all_ && !used_ && problems_.empty())
                add(key, "no row can be used for training (" + std::to_string(rows_) + " read)");
            if (!pairs) continue;
            for (const auto& path : *targets) check_path(key, path, pairs);
        }
    }

    // Each with its own columns.
    void check_sources() {
        for (const auto& source : config_.data.sources) {
            source_ = &source;
            for (const auto& path : source.files) check_path("data.source", path, false);
        }
        source_ = nullptr;
    }

    void check_path(const char* key, const std::string& path, bool lines) {
        if (data::is_token_folder(path)) {
            check_store(key, path);
            return;
        }
        for (const auto& file : data::files_of(path)) {
            const bool pipe = is_pipe(file);
            looked_at_all_ = looked_at_all_ && !pipe && !lines;
            if (pipe && (lines || data::format_of(file))) continue;
            const auto error = lines ? look_at_lines(file) : look_at_rows(file);
            if (!error.empty()) add(key, error);
        }
    }

    void check_store(const char* key, const std::string& path) {
        used_ = true;
        try {
            const auto folder = data::open_token_folder(path);
            const auto faults = tokenizer_ ? data::differences(folder, config_.data, *tokenizer_)
                                           : std::vector<std::string>();
            for (const auto& fault : faults)
                add(fault.substr(0, fault.find(": ")).c_str(), fault.substr(fault.find(": ") + 2));
        } catch (const base::InputError& error) {
            add(key, error.what());
        }
    }

    static std::string look_at_lines(const std::string& file) {
        data::RowRequest request;
        request.path = file;
        request.columns = {"text"};
        request.on_row = [](data::Row&) { return false; };
        return data::read_documents(request, config::Documents::paragraphs).error;
    }

    // Its error, after the problems of its rows.
    std::string look_at_rows(const std::string& file) {
        const auto& data = config_.data;
        data::RowRequest request;
        request.path = file;
        request.columns = data::label_columns(config_);
        const auto text = request.columns.size();
        const bool labelled = text > 0;
        const bool words = config_.task.kind == config::TaskKind::token_classification;
        request.columns.push_back(words ? "text" : data.text_column);
        if (source_ != nullptr && !source_->text_column.empty()) request.columns[text] = source_->text_column;
        if (source_ != nullptr && !source_->label_column.empty()) request.columns[0] = source_->label_column;
        if (labelled && !data.pair_column.empty()) request.columns.push_back(data.pair_column);
        if (!data.target_column.empty() && config_.task.kind == config::TaskKind::seq2seq)
            request.columns.push_back(data.target_column);
        std::int64_t rows = 0;
        const auto more = [&] {
            looked_at_all_ = looked_at_all_ && rows + 1 < rows_looked_at;
            return ++rows < rows_looked_at && (data.max_rows == 0 || rows < data.max_rows);
        };
        const auto at = [&](const data::RowPlace& place) {
            return file + ":" + data::to_string(place) + ": error: ";
        };
        request.on_row = [&](data::Row& row) {
            ++rows_;
            used_ = used_ || row.values[text].find_first_not_of(" \t\r\n") != std::string::npos;
            if (words && tokenizer_) look_at_words(file, row);
            for (std::size_t i = text;
                 !words && tokenizer_ && data.bad_row == config::BadRow::error && i < row.values.size();
                 ++i) {
                const auto byte = data::find_invalid_utf8(row.values[i]);
                if (const auto fault = tokenizer_->problem_in(row.values[i]); !fault.empty())
                    add(at(row.place(i, byte == std::string::npos ? 0 : byte)) + fault);
            }
            if (labelled) {
                const auto labels = data::labels_of(config_, std::span(row.values).first(text),
                                                    std::span(request.columns).first(text));
                if (!labels.fault.empty() && labels.rule == config::BadRow::error)
                    add(at(row.place(labels.column, 0)) + labels.fault);
            }
            return more();
        };
        request.on_problem = [&](const data::RowProblem& problem) {
            if (data.bad_row == config::BadRow::error)
                add(at({problem.line, problem.column}) + "the row " + problem.message);
            return more();
        };
        const bool documents = words || config_.task.kind == config::TaskKind::next_sentence ||
                               (config_.task.predicts_tokens() && data.target_column.empty());
        const auto kind = words ? config::Documents::paragraphs : data.documents;
        return (documents ? data::read_documents(request, kind) : data::read_formatted_rows(request)).error;
    }

    // Of a sentence whose words have labels.
    void look_at_words(const std::string& file, const data::Row& row) {
        const auto tokens = data::labelled_tokens(config_, *tokenizer_, row.values[0]);
        if (!tokens.fault.empty() && tokens.rule == config::BadRow::error)
            add(file + ":" + data::to_string(row.place(0, tokens.byte)) + ": error: " + tokens.fault);
    }

    const config::Config& config_;
    std::shared_ptr<const data::Tokenizer> tokenizer_;  // nullptr: none, or made of the data
    const config::SourceConfig* source_ = nullptr;      // that is looked at
    std::int64_t rows_ = 0;                             // of data.train that were looked at
    bool used_ = false, looked_at_all_ = true;
    std::vector<std::string> problems_;
    std::set<std::string> told_;
};

}  // namespace

std::vector<std::string> start_problems(const Job& job) {
    return StartCheck(job.config).of_training(job.records);
}

std::vector<std::string> input_problems(const config::Config& config, Reading reading) {
    return StartCheck(config).of_inputs(reading);
}

}  // namespace switchyard::cli
