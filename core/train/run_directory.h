// The folder of one run and what stands in it:
//
//     config.toml  vocab.txt (unless the tokenizer has none)  plan.json  metrics.jsonl  tensorboard/  checkpoints/  model/ (Hugging Face's format)  summary.json
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace switchyard::train {

class RunDirectory {
public:
    // Whether a run began there: it has metrics or checkpoints.
    static bool holds_run(const std::string& path);
    // Makes it, and removes what a killed process left half written. An error text if it holds a run already and `resume` is false, or if it cannot be made.
    static std::string prepare(const std::string& path, bool resume);

    explicit RunDirectory(std::string path) : path_(std::move(path)) {}
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string vocabulary() const { return file("vocab.txt"); }
    std::string checkpoints() const { return file("checkpoints"); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// metrics.jsonl: one JSON object a line, each with "step". Begun again on resuming: lines of steps that are done again are dropped.
class MetricsLog {
public:
    // Keeps lines with a step of at most `step`, but no evaluation of that very step if it is made again. Throws std::runtime_error naming the file.
    MetricsLog(const std::string& path, std::int64_t step, bool evaluated_again);
    void write(const nlohmann::ordered_json& line);

private:
    std::string path_;
    std::ofstream file_;
};

}  // namespace switchyard::train
