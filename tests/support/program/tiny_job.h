// A whole training job that takes less than a second: a BERT of two layers, its own vocabulary, sixty film
// reviews.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "run_switchyard.h"

namespace switchyard::test {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// These words and `more` behind them.
inline Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// The model, for totals and files that are made by hand.
inline constexpr std::int64_t tiny_layers = 2, tiny_hidden = 32, tiny_intermediate = 64, tiny_vocabulary = 64,
                              tiny_positions = 32, tiny_classes = 2;

// A new folder with job.toml, rows.tsv and vocab.txt. job.toml: 8 steps of 3 batches of 4, dropout 0.1,
// constant rate, everything through torch.
class TinyJob {
public:
    TinyJob();

    std::string file(const std::string& name) const { return (folder_ / name).string(); }
    std::string run_folder(const std::string& name) const { return file(name); }
    // Writes or replaces a file of the job.
    std::string write(const std::string& name, const std::string& text) const;

    // "COMMAND job.toml", each "key=value" of `sets` as --set.
    Words words(const std::string& command, const Words& sets) const;
    // "train job.toml --run NAME" and `more`, each "key=value" of `sets` as --set.
    Words train(const std::string& run, const Words& sets = {}, const Words& more = {}) const;
    Outcome trained(const std::string& run, const Words& sets = {}, const Words& more = {}) const;

private:
    fs::path folder_;
};

// TOML: every slot from torch in float32, with that learning rate.
std::string torch_slots(const std::string& lr);

std::string bytes_of(const fs::path& file);
nlohmann::json json_of(const fs::path& file);
// Every file below a folder with its bytes, by relative name.
std::map<std::string, std::string> files_below(const fs::path& folder);

// metrics.jsonl of a run: step -> the value of `key` in the lines that have it; a step that stands there
// twice fails the test. A line that is not yet written to its end does not count.
std::map<std::int64_t, double> lines_with(const fs::path& run, const std::string& key);
std::map<std::int64_t, double> step_losses(const fs::path& run);
std::map<std::int64_t, double> eval_losses(const fs::path& run);

// Names of the checkpoints of a run, oldest first.
Words checkpoints(const fs::path& run);
// Folders of unfinished saves.
Words leftovers(const fs::path& run);

// The last checkpoint's state of optimizer and policy.
std::string state_of(const fs::path& run);
// Checks that with layers, attention or the feed-forward recomputed the job trains to the same bits as
// without. Runs are named `name`_none, `name`_layers ...
void check_recomputation(const TinyJob& job, const std::string& name, const Words& sets);

// Requires that two runs ended in the same state: last checkpoint and model byte for byte, the same losses in
// the same steps.
void require_same_end(const fs::path& expected, const fs::path& actual);

// Checks that input was refused: exit code 2, nothing on standard output, these parts in the text, neither a
// stack trace nor the words of an unexpected end.
void check_refused(const Outcome& outcome, const Words& parts);

// For what is ended before its last step: it trains until then, however long that takes.
inline const std::string endless = "train.steps=100000";
// The step of the last checkpoint of a run.
std::int64_t last_step(const fs::path& run);

// Makes a program stand still where `condition` holds, and still does once it stands; false: it ended before.
// SIGCONT lets it go on.
bool stand_still(Started& started, const std::function<bool()>& condition);

// Looks until `condition` holds; false if it does not within five minutes, which nothing needs.
bool wait_until(const std::function<bool()>& condition);

}  // namespace switchyard::test
