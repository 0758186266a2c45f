#include "core/workbench/cli/train/resumption.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/config/group_table.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/program_version.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"
#include "core/workbench/train/checkpoint_folder.h"

namespace switchyard::cli {
namespace {

using base::Json;
using train::FactChange;

std::string one_line(const FactChange& change) {
    return base::printable(change.key) + ": was " + base::quoted(change.before) + ", is " +
           base::quoted(change.now);
}

// A key, or a table with all of its keys: "precision" for "precision.backend".
bool covers(const std::string& allowed, const std::string& key) {
    return key == allowed || key.starts_with(allowed + ".");
}

// Tables of which there may be many, or none: then they are no key of a job.
bool is_list(const std::string& key) {
    return key == config::group_path || key == config::source_path || key == "layer";
}

void check_keys(const std::vector<std::string>& allowed, const train::RunFacts& before,
                const train::RunFacts& now) {
    for (const auto& key : allowed) {
        const auto is_meant = [&](const auto& fact) { return covers(key, fact.first); };
        if (is_list(key) || std::any_of(before.config.begin(), before.config.end(), is_meant) ||
            std::any_of(now.config.begin(), now.config.end(), is_meant))
            continue;
        std::vector<std::string> keys;
        for (const auto& [name, value] : now.config) keys.push_back(name);
        const auto near = config::suggest(key, keys);
        throw Failure("--allow-change: there is no key " + base::quoted(key) +
                      (near.empty() ? "" : "; did you mean " + near + "?"));
    }
}

std::string refusal(const ResumedFrom& from, const std::vector<FactChange>& refused) {
    std::string text = from.place +
                       ": error: this is not the job that the run started with, and the run would no longer "
                       "match its record:\n";
    std::vector<std::string> flags;
    for (const auto& change : refused) {
        text += "  " + one_line(change) + "\n";
        flags.push_back("--allow-change " + change.key);
    }
    flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
    return text + "restore these values, start again in another folder with --run, or continue with " +
           joined(flags, " ") + ", which is recorded in changes.jsonl";
}

// "2026-03-01T14:05:09Z"
std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::array<char, 32> text{};
    if (::gmtime_r(&now, &parts) == nullptr) return "";
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

std::vector<FactChange> changes_since(const ResumedFrom& from, const train::RunFacts& now,
                                      const std::vector<std::string>& allowed) {
    if (from.facts.empty()) {
        std::cerr << ("warning: " + from.place +
                      ": does not record its configuration and data: an older version of this program wrote "
                      "it\n");
        return {};
    }
    const auto before = train::facts_from(base::parse_object(from.facts, from.place));
    check_keys(allowed, before, now);
    auto changes = train::changes_between(before, now);
    std::vector<FactChange> refused;
    for (const auto& change : changes) {
        const auto is_allowed = [&](const std::string& key) { return covers(key, change.key); };
        if (change.counts && std::none_of(allowed.begin(), allowed.end(), is_allowed))
            refused.push_back(change);
    }
    if (!refused.empty()) throw Failure(refusal(from, refused));
    return changes;
}

void check_allowed_keys(const std::vector<std::string>& allowed, const train::RunFacts& now) {
    check_keys(allowed, now, now);
}

void record_changes(const train::RunDirectory& run, const ResumedFrom& from,
                    const std::vector<FactChange>& changes) {
    const auto file = run.file("changes.jsonl");
    if (changes.empty() && !base::read_text(file)) return;
    auto log = train::open_changes(file, from.step);
    std::string error;
    for (const auto& change : changes) {
        std::cerr << ("from step " + std::to_string(from.step) + " on: " + one_line(change) + "\n");
        if (error.empty())
            error = log.write(
                {{"step", from.step}, {"key", change.key}, {"before", change.before}, {"now", change.now}});
    }
    if (error.empty()) error = log.sync();
    if (!error.empty()) throw Failure(error, Exit::run_failed);
}

void use_kept_tokenizer(config::Config& config, const train::RunDirectory& run) {
    // A run of bytes read no vocabulary, even where one was named.
    if (config.data.tokenizer == config::TokenizerKind::bytes) return config.data.vocabulary.clear();
    const auto source = data::find_tokenizer(config.data, config.train.weights);
    if (std::string_view(source.key) != "train.weights") return;
    std::error_code ignored;
    for (const auto& kept : {run.tokenizer(), run.vocabulary()}) {
        if (!std::filesystem::exists(kept, ignored)) continue;
        config.data.vocabulary = kept;
        return;
    }
}

bool is_finished(const train::RunDirectory& run, std::int64_t done, std::int64_t steps) {
    std::error_code ignored;
    if (done < steps || !std::filesystem::exists(run.file("model"), ignored)) return false;
    const auto text = base::read_text(run.file("summary.json"));
    const auto summary = text ? base::parse_json(*text).value : Json();
    return base::text_of(summary, "status") == "finished" &&
           base::integer_of(base::member(summary, "steps")) == done;
}

void leave_finished(const train::RunDirectory& run, std::int64_t steps) {
    train::remove_leftovers(run.checkpoints());
    for (const auto& folder : {run.path(), run.file("model")}) base::remove_unfinished(folder);
    std::cerr << (run.path() + ": is finished, after " + counted(static_cast<std::size_t>(steps), "step") +
                  "; nothing was changed. To train on, raise train.steps or train.epochs\n");
}

std::string record_text(const train::RunFacts& facts) {
    Json record{{"version", 1},
                {"command", command_line()},
                {"begun", now_text()},
                {"switchyard", {{"version", program_version()}, {"commit", program_commit()}}},
                {"facts", train::to_json(facts)}};
    return record.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string recorded_facts(const train::RunDirectory& run) {
    const auto file = run.file("record.json");
    const auto text = base::read_text(file);
    if (!text) return "";
    const auto record = base::parse_object(*text, file);
    const auto& facts = base::member(record, "facts");
    return facts.is_object() ? facts.dump() : "";
}

}  // namespace switchyard::cli
