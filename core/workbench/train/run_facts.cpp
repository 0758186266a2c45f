#include "core/workbench/train/run_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/kernel/config/show.h"
#include "core/kernel/config/table.h"
#include "core/kernel/loader/content_hash.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/store/token_folder.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"
#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/weights_place.h"

namespace switchyard::train {
namespace {

using base::Json;

constexpr const char* weights_key = "train.weights";
constexpr const char* adapter_key = "lora.from";

// Keys that change what is written down, or where things are, and no number that is learnt.
constexpr std::array<std::string_view, 30> without_effect{
    "cache.dtype",
    "cache.kind",
    "cache.page_size",
    "cache.step_tokens",
    "distributed.interface",
    "distributed.timeout",
    "log.command",
    "log.end_seconds",
    "plugins.disabled",
    "plugins.lock",
    "plugins.paths",
    "plugins.require",
    "plugins.trusted_keys",
    "run.phases",
    "runtime.allocator",
    "runtime.auto",
    "runtime.keep_times",
    "runtime.spin",
    "train.log_every",
    "train.eval_answers",
    "train.eval_every",
    "train.checkpoint_every",
    "train.checkpoint_minutes",
    "train.keep_last",
    "train.keep_best",
    "train.patience",
    "train.min_delta",
    "train.max_rewinds",
    "runtime.threads",  // how many there really are is a fact of its own
    "train.weights"};   // with_first_weights says what counts of them

const std::string& value_of(const std::map<std::string, std::string>& values, const std::string& key) {
    static const std::string none = "(nothing)";
    static const auto standard = config::canonical_values(config::Config());
    for (const auto* known : {&values, &standard}) {
        if (const auto found = known->find(key); found != known->end()) return found->second;
    }
    return none;
}

std::int64_t count_of(const RunFacts& facts, const std::string& key) {
    const auto& text = value_of(facts.config, key);
    std::int64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

// From the processors that a process may use.
bool threads_follow(const RunFacts& facts) { return value_of(facts.config, "runtime.threads") == "0"; }

// How long a run lasts changes its learning rates unless they are the same in all steps. A warm-up that is
// longer than the run rises to the whole rate at its end; of epochs it is taken to be shorter than they are.
bool rates_hang_on_length(const RunFacts& facts) {
    if (value_of(facts.config, "train.schedule") != "\"constant\"") return true;
    const auto warmup = count_of(facts, "train.warmup_steps"), steps = count_of(facts, "train.steps");
    if (warmup > 0) return steps > 0 && warmup > steps;
    return value_of(facts.config, "train.warmup_ratio").find_first_not_of("0.") != std::string::npos;
}

// What a candidate beside a component does changes nothing.
bool is_of_shadow(std::string_view key) { return key.find(".shadow.") != std::string_view::npos; }

bool counts(const std::string& key, const RunFacts& before, const RunFacts& now) {
    if (is_of_shadow(key)) return false;
    if (std::find(without_effect.begin(), without_effect.end(), key) != without_effect.end()) return false;
    if (key == "train.steps" || key == "train.epochs")
        return rates_hang_on_length(before) || rates_hang_on_length(now);
    return !now.data.contains(key);  // the content of files counts, not where they are
}

DataFile data_file(const std::string& path) {
    std::error_code error;
    return {path, std::filesystem::is_regular_file(path, error) ? loader::content_hash(path) : ""};
}

std::vector<DataFile> data_files(const std::vector<std::string>& names) {
    std::vector<DataFile> files;
    for (const auto& named : names) {
        if (data::is_token_folder(named)) {  // what it holds follows from the checksums in this file
            files.push_back(data_file(named + "/store.json"));
            continue;
        }
        for (const auto& path : data::files_of(named)) files.push_back(data_file(path));
    }
    return files;
}

// Of the first values of parameters. What cannot be read is refused elsewhere.
std::vector<DataFile> weight_files(const std::string& place) {
    std::vector<DataFile> files;
    if (place.empty()) return files;
    for (const auto& path : model::find_weights(place).files) files.push_back(data_file(path));
    return files;
}

std::vector<DataFile> adapter_files(const std::string& folder) {
    std::vector<DataFile> files;
    if (folder.empty()) return files;
    for (const char* name : {model::adapter_config_file, model::adapter_weights_file})
        files.push_back(data_file(folder + "/" + name));
    return files;
}

// Of files beside a tokenizer, one that says nothing of it is not.
bool is_kept(const std::string& path, const std::vector<data::TokenizerFile>& kept) {
    const auto name = std::filesystem::path(path).filename().string();
    return std::ranges::any_of(kept, [&](const auto& file) { return file.name == name; });
}

std::string shown(const DataFile* file) {
    if (file == nullptr) return "no such file";
    return file->path + (file->hash.empty() ? " of unknown content" : " with XXH3 " + file->hash);
}

// The first file that is another; files whose content is not known are taken for others.
void compare_files(const std::string& key, const std::vector<DataFile>& before,
                   const std::vector<DataFile>& now, std::vector<FactChange>& changes) {
    for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
        const auto* const old_file = i < before.size() ? &before[i] : nullptr;
        const auto* const new_file = i < now.size() ? &now[i] : nullptr;
        if (old_file != nullptr && new_file != nullptr && !old_file->hash.empty() &&
            old_file->hash == new_file->hash)
            continue;
        changes.push_back({key, shown(old_file), shown(new_file), true});
        return;
    }
}

}  // namespace

RunFacts facts_of(const config::Config& config, const data::Tokenizer& tokenizer, std::int64_t threads,
                  const HostInfo& host) {
    RunFacts facts{config::canonical_values(config), {}, threads, 1, host.cpu_model, host.libtorch_version};
    const auto& data = config.data;
    facts.data = {{"data.train", data_files(data.train)},
                  {"data.eval", data_files(data.eval)},
                  {"data.target_train", data_files(data.target_train)},
                  {"data.target_eval", data_files(data.target_eval)},
                  {"data.vocabulary", {}}};
    if (!data.sources.empty()) {
        auto& files = facts.data["data.source.files"];
        for (const auto& source : data.sources) {
            const auto of_source = data_files(source.files);
            files.insert(files.end(), of_source.begin(), of_source.end());
        }
    }
    // Of the folder of train.weights, too: a run that goes on has the same files in its own folder.
    const auto source = data::find_tokenizer(data, config.train.weights);
    auto& files = facts.data["data.vocabulary"];
    const auto kept = tokenizer.files();
    const bool of_weights = std::string_view(source.key) == "train.weights";
    for (const auto& path : source.files) {
        if (!of_weights || !gguf::is_gguf_file(path)) {
            files.push_back(data_file(path));
            continue;
        }
        // What is kept is the tokenizer without the weights around it.
        for (const auto& file : kept) files.push_back({path, loader::text_hash(file.bytes)});
    }
    for (const auto& path : source.settings)
        if (is_kept(path, kept)) files.push_back(data_file(path));
    return facts;
}

RunFacts with_first_weights(RunFacts facts, const config::Config& config) {
    facts.data[weights_key] = weight_files(config.train.weights);
    facts.data[adapter_key] = adapter_files(config.lora.from);
    return facts;
}

Json to_json(const RunFacts& facts) {
    Json data = Json::object();
    for (const auto& [key, files] : facts.data) {
        auto& list = data[key] = Json::array();
        for (const auto& file : files) list.push_back({{"path", file.path}, {"xxh128", file.hash}});
    }
    return {{"config", facts.config}, {"data", std::move(data)}, {"threads", facts.threads},
            {"ranks", facts.ranks},   {"cpu", facts.cpu},        {"libtorch", facts.libtorch}};
}

RunFacts facts_from(const Json& json) {
    RunFacts facts;
    for (const auto& [key, value] : base::member(json, "config").items()) {
        if (!value.is_string()) continue;
        const auto* const renamed = config::find_renamed(key);  // since the run was begun
        facts.config[renamed != nullptr ? renamed->key : key] = value.get<std::string>();
    }
    for (const auto& [key, files] : base::member(json, "data").items()) {
        for (const auto& file : files)
            facts.data[key].push_back({base::text_of(file, "path"), base::text_of(file, "xxh128")});
    }
    facts.threads = base::integer_of(base::member(json, "threads")).value_or(0);
    facts.ranks = base::integer_of(base::member(json, "ranks")).value_or(0);
    facts.cpu = base::text_of(json, "cpu");
    facts.libtorch = base::text_of(json, "libtorch");
    return facts;
}

std::vector<FactChange> changes_between(const RunFacts& before, const RunFacts& now) {
    std::vector<FactChange> changes;
    auto keys = before.config;
    keys.insert(now.config.begin(), now.config.end());
    for (const auto& [key, value] : keys) {
        const auto &old_value = value_of(before.config, key), &new_value = value_of(now.config, key);
        if (old_value != new_value) changes.push_back({key, old_value, new_value, counts(key, before, now)});
    }
    for (const auto& [key, files] : now.data) {
        const auto found = before.data.find(key);
        // A version of this program that did not record them wrote it.
        if (found == before.data.end() && (key == weights_key || key == adapter_key)) continue;
        compare_files(key, found == before.data.end() ? std::vector<DataFile>() : found->second, files,
                      changes);
    }
    const auto threads = [](const RunFacts& facts) {
        return std::to_string(facts.threads) + (facts.threads == 1 ? " thread" : " threads");
    };
    const bool other_ranks = before.ranks > 0 && now.ranks > 0 && before.ranks != now.ranks;
    if (other_ranks)
        changes.push_back({"ranks", std::to_string(before.ranks), std::to_string(now.ranks), false});
    const bool by_processors = threads_follow(before) && threads_follow(now);
    if (before.threads != now.threads)
        changes.push_back(
            {"runtime.threads", threads(before), threads(now), !(other_ranks && by_processors)});
    if (before.cpu != now.cpu) changes.push_back({"cpu", before.cpu, now.cpu, false});
    if (before.libtorch != now.libtorch)
        changes.push_back({"libtorch", before.libtorch, now.libtorch, false});
    return changes;
}

}  // namespace switchyard::train
