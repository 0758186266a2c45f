#include "tiny_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

const Words kind_words{"bright", "warm",  "funny",  "clever", "lovely",
                       "fresh",  "brave", "gentle", "rich",   "honest"};
const Words harsh_words{"dull", "cold", "flat", "clumsy", "ugly", "stale", "timid", "harsh", "poor", "false"};
const Words things{"film", "story", "actor", "scene", "script", "music", "ending", "camera", "plot", "cast"};
const Words small_words{"the",  "a",  "this", "that", "is",    "was", "and",
                        "with", "of", "very", "but",  "quite", "so",  "rather"};

std::string vocabulary() {
    std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (const auto* words : {&kind_words, &harsh_words, &things, &small_words}) {
        for (const auto& word : *words) text += word + "\n";
    }
    return text;
}

std::string review(std::size_t number) {
    const auto& adjectives = number % 2 == 1 ? kind_words : harsh_words;
    std::string text = "the " + things[number % 10] + " is " + adjectives[number * 7 % 10] + " and " +
                       small_words[number % 14] + " " + adjectives[number / 3 % 10] + " " +
                       things[number * 3 % 10];
    for (std::size_t i = 0; i < number % 7; ++i) text += " " + small_words[(number + i) % 14];
    return text;
}

std::string rows() {
    std::string text = "text\tlabel\n";
    for (std::size_t i = 0; i < 60; ++i) text += review(i) + "\t" + (i % 2 == 1 ? "good" : "bad") + "\n";
    return text;
}

Words sets_of(const Words& sets) {
    Words words;
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    return words;
}

constexpr const char* job = R"(
[run]
seed = 3

[runtime]
threads = 1                 # two would wait for each other where other programs run

[model]
type = "bert"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32
dropout = 0.1
attention_dropout = 0.1

[task]
kind = "classification"
labels = ["bad", "good"]

[data]
train = ["rows.tsv"]
eval_fraction = 0.2
vocabulary = "vocab.txt"

[train]
steps = 8
grad_accumulation_steps = 3
schedule = "constant"
warmup_ratio = 0.0
log_every = 1

[batch]
size = 4
)";

constexpr const char* slots = R"(
[attention]
backend = "torch"

[normalization]
backend = "torch"

[activation]
backend = "torch"

[linear]
backend = ["torch", "scaled"]

[loss]
backend = "torch"

[precision]
backend = "torch/fp32"

[data_loader]
backend = "torch"
[optimizer]
backend = "torch"
)";

Words folders_with(const fs::path& run, const std::string& prefix) {
    Words names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints", error)) {
        auto name = entry.path().filename().string();
        if (name.starts_with(prefix)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace

TinyJob::TinyJob() : folder_(temporary_dir("job")) {
    write("job.toml", job + torch_slots("1e-3"));
    write("rows.tsv", rows());
    write("vocab.txt", vocabulary());
}

std::string TinyJob::write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return file(name);
}

Words TinyJob::words(const std::string& command, const Words& sets) const {
    return with({command, file("job.toml")}, sets_of(sets));
}

Words TinyJob::train(const std::string& run, const Words& sets, const Words& more) const {
    return with(with({"train", file("job.toml"), "--run", run_folder(run)}, sets_of(sets)), more);
}

Outcome TinyJob::trained(const std::string& name, const Words& sets, const Words& more) const {
    auto outcome = run(train(name, sets, more));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome;
}

std::string torch_slots(const std::string& lr) { return std::string(slots) + "\nlr = " + lr + "\n"; }

std::string bytes_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

nlohmann::json json_of(const fs::path& file) { return nlohmann::json::parse(bytes_of(file)); }

std::map<std::string, std::string> files_below(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            files[entry.path().lexically_relative(folder).string()] = bytes_of(entry.path());
    }
    return files;
}

std::map<std::int64_t, double> lines_with(const fs::path& run, const std::string& key) {
    std::map<std::int64_t, double> values;
    std::ifstream file(run / "metrics.jsonl");
    for (std::string line; std::getline(file, line) && !file.eof();) {
        INFO(run.string() << "/metrics.jsonl: " << line);
        const auto object = nlohmann::json::parse(line);
        if (!object.contains(key)) continue;
        REQUIRE(values.emplace(object.at("step"), object.at(key)).second);
    }
    return values;
}

std::map<std::int64_t, double> step_losses(const fs::path& run) { return lines_with(run, "loss"); }
std::map<std::int64_t, double> eval_losses(const fs::path& run) { return lines_with(run, "eval_loss"); }
Words checkpoints(const fs::path& run) { return folders_with(run, "step-"); }
Words leftovers(const fs::path& run) { return folders_with(run, ".writing-"); }

std::int64_t last_step(const fs::path& run) {
    return json_of(run / "checkpoints" / checkpoints(run).back() / "state.json")["step"];
}

bool stand_still(Started& started, const std::function<bool()>& condition) {
    bool stands = false;
    const bool seen = wait_until([&] {
        if (started.ended()) return true;
        if (!condition()) return false;
        if (!started.stop()) return true;
        stands = condition();
        if (!stands) started.send(SIGCONT);
        return stands;
    });
    return seen && stands;
}

std::string state_of(const fs::path& run) {
    return bytes_of(run / "checkpoints" / checkpoints(run).back() / "optimizer.safetensors");
}

void check_recomputation(const TinyJob& job, const std::string& name, const Words& sets) {
    const auto none = job.run_folder(name + "_none");
    job.trained(name + "_none", sets);
    for (const std::string part : {"layers", "attention", "feed_forward"}) {
        INFO(part);
        Words more = sets;
        more.push_back("train.recompute=" + part);
        job.trained(name + "_" + part, more);
        const auto run = job.run_folder(name + "_" + part);
        CHECK(step_losses(run) == step_losses(none));
        const bool same = state_of(run) == state_of(none);
        CHECK(same);
    }
}

void require_same_end(const fs::path& expected, const fs::path& actual) {
    const auto last = checkpoints(expected).back();
    REQUIRE(checkpoints(actual).back() == last);
    const auto files_of = [&](const fs::path& run) {
        std::set<std::string> names;
        for (const auto& file : fs::directory_iterator(run / "checkpoints" / last))
            names.insert(file.path().filename().string());
        return names;
    };
    const auto files = files_of(expected);
    CHECK(files_of(actual) == files);
    CHECK(files.contains("state.json"));
    for (const auto& file : files) {
        INFO(file);
        // Not REQUIRE(a == b): that would print megabytes.
        const bool same = bytes_of(expected / "checkpoints" / last / file) ==
                          bytes_of(actual / "checkpoints" / last / file);
        CHECK(same);
    }
    const fs::path best = "checkpoints/best.json";
    REQUIRE(fs::exists(actual / best) == fs::exists(expected / best));
    if (fs::exists(expected / best)) {
        CHECK(bytes_of(actual / best) == bytes_of(expected / best));
        CHECK(checkpoints(actual) == checkpoints(expected));
    }
    const bool same_model =
        bytes_of(expected / "model/model.safetensors") == bytes_of(actual / "model/model.safetensors");
    CHECK(same_model);
    CHECK(step_losses(expected) == step_losses(actual));
    CHECK(eval_losses(expected) == eval_losses(actual));
    CHECK(leftovers(actual).empty());
}

void check_refused(const Outcome& outcome, const Words& parts) {
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    for (const auto& part : parts) CHECK_THAT(outcome.err, contains(part));
    CHECK(outcome.out.empty());
    for (const char* sign : {"frame #", "Exception raised from", "terminate called", "what():"})
        CHECK(outcome.err.find(sign) == std::string::npos);
}

bool wait_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

}  // namespace switchyard::test
