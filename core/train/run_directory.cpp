#include <switchyard/train/run_directory.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include <switchyard/base/atomic_file.h>
#include <switchyard/train/checkpoint.h>

namespace switchyard::train {

bool RunDirectory::holds_run(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path + "/metrics.jsonl", error) ||
           newest_checkpoint(path + "/checkpoints");
}

std::string RunDirectory::prepare(const std::string& path, bool resume) {
    std::error_code error;
    if (!resume && holds_run(path)) {
        return path +
               " holds a run already: give another folder with --run, go on with it by --resume, or remove "
               "it";
    }
    std::filesystem::create_directories(path + "/tensorboard", error);
    if (error) return "cannot make the folder " + path + ": " + error.message();
    remove_leftovers(path + "/checkpoints");
    for (const char* folder : {"", "/model"}) base::remove_unfinished(path + folder);
    return "";
}

MetricsLog::MetricsLog(const std::string& path, std::int64_t step, bool evaluated_again) : path_(path) {
    std::string kept;
    std::ifstream before(path);
    for (std::string line; std::getline(before, line);) {
        const auto object = nlohmann::json::parse(line, nullptr, false);
        if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) continue;
        const auto at = object["step"].get<std::int64_t>();
        const bool again = evaluated_again && at == step && object.contains("eval_loss");
        if (at <= step && !again) kept += line + "\n";
    }
    if (const auto error = base::write_file_atomically(path, kept)) throw std::runtime_error(*error);
    file_.open(path, std::ios::app);
}

void MetricsLog::write(const nlohmann::ordered_json& line) {
    file_ << line.dump() << '\n' << std::flush;
    if (!file_) throw std::runtime_error("cannot write " + path_ + ": is the disk full?");
}

}  // namespace switchyard::train
