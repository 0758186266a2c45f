#include "core/workbench/train/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/next_line.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/train/checkpoint_folder.h"

namespace switchyard::train {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 17> own_names{
    ".lock",       "record.json",      "config.toml",   "changes.jsonl", "vocab.txt",
    "tokenizer",   "label_scale.json", "plan.json",     "skipped.jsonl", "model",
    "adapter",     "summary.json",     "metrics.jsonl", "tensorboard",   "checkpoints",
    "report.html", "log_output.txt"};

bool is_own(const std::string& name) {
    return std::find(own_names.begin(), own_names.end(), name) != own_names.end() ||
           name.starts_with(".writing-");
}

// "a.csv, notes.txt and 3 more"
std::string listed(std::vector<std::string> names) {
    constexpr std::size_t shown = 3;
    std::sort(names.begin(), names.end());
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, names.size()); ++i)
        base::add_item(text, base::quoted(names[i]));
    return names.size() <= shown ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

// Whether the run's first file is there, which is written as a whole.
bool is_begun(const std::string& path) {
    const auto text = base::text_if_readable(path + "/record.json", base::limits::json_bytes);
    return base::member(base::parse_json(text).value, "facts").is_object();
}

// What is there is a run's only if the run's first file is there, or was being written when the process was
// killed.
std::vector<std::string> foreign_names(const std::string& path) {
    std::error_code error;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path, error)) {
        auto name = entry.path().filename().string();
        if (name == ".lock" || name.starts_with(".writing-record.json-")) continue;
        names.push_back(std::move(name));
    }
    // Looked at after the others: a run that begins meanwhile has made it before any of them.
    if (is_begun(path)) std::erase_if(names, is_own);
    return names;
}

// A new folder is durable once the one that it is in is synced.
std::string make_folder(const fs::path& path) {
    std::error_code error;
    std::vector<fs::path> parents;
    for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path())
        parents.push_back(at.has_parent_path() ? at.parent_path() : ".");
    fs::create_directories(path, error);
    if (error) return "cannot create the folder " + path.string() + ": " + error.message();
    for (const auto& parent : parents) {
        if (const auto failed = base::sync_folder(parent.string())) return *failed;
    }
    return "";
}

std::string megabytes(std::int64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

// Files of these sizes, as long as it lives: what they take is really there, whatever quota or limit holds.
class Reserved {
public:
    explicit Reserved(std::string folder) : folder_(std::move(folder)) {}
    ~Reserved() {
        for (const auto& file : files_) ::unlink(file.c_str());
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;

    // 0, or errno.
    int add(std::int64_t bytes) {
        auto name = folder_ + "/.writing-room-XXXXXX";
        const int file = ::mkostemp(name.data(), O_CLOEXEC);
        if (file < 0) return errno;
        files_.push_back(name);
        const int error = bytes > 0 && ::fallocate(file, 0, 0, bytes) != 0 ? errno : 0;
        ::close(file);
        return error;
    }

private:
    std::string folder_;
    std::vector<std::string> files_;
};

bool has_free(const std::string& folder, std::int64_t bytes) {
    struct statvfs system {};
    if (::statvfs(folder.c_str(), &system) != 0) return true;  // nothing is known against it
    return system.f_bavail >= static_cast<std::uint64_t>(bytes) / std::max<std::uint64_t>(1, system.f_frsize);
}

std::string no_room(const std::string& path, const SaveSizes& sizes) {
    std::int64_t all = 0;
    for (const auto bytes : sizes) all += bytes;
    Reserved reserved(path + "/checkpoints");
    int error = 0;
    for (std::size_t i = 0; i < sizes.size() && error == 0; ++i) error = reserved.add(sizes[i]);
    if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL)
        error = has_free(path + "/checkpoints", all) ? 0 : ENOSPC;
    if (error == 0) return "";
    return path + ": error: there is no space for a checkpoint and the model, which take " + megabytes(all) +
           ": " + std::strerror(error);
}

// Those that are whole objects with a step, of a file that may have more than is read as a whole.
void for_each_line(
    const std::string& path,
    const std::function<void(std::int64_t step, const base::Json& object, std::string_view line)>& take) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    std::filebuf file;
    if (!fs::is_regular_file(path, ignored) || file.open(path, std::ios::in | std::ios::binary) == nullptr)
        throw base::InputError(path + ": error: cannot be read; expected a file that this run wrote");
    std::string line;
    for (auto found = base::next_line(file, line); found != base::Line::none;
         found = base::next_line(file, line)) {
        if (found == base::Line::too_long) continue;
        const auto object = base::parse_json(line, path).value;
        const auto step = object.is_object() ? object.find("step") : object.end();
        if (!object.is_object() || step == object.end() || !step->is_number_integer()) continue;
        take(step->get<std::int64_t>(), object, line);
    }
}

// A line of an evaluation has it, whatever else it has.
constexpr const char* of_evaluation = "eval_loss";

}  // namespace

bool RunDirectory::holds_run(const std::string& path) {
    std::error_code error;
    const bool has_steps = fs::exists(path + "/metrics.jsonl", error) && is_begun(path);
    return has_steps || newest_checkpoint(path + "/checkpoints");
}

std::string RunDirectory::cannot_begin(const std::string& path) {
    std::error_code error;
    if (fs::exists(path, error) && !fs::is_directory(path, error))
        return path + ": error: is not a folder; give another one with --run";
    if (holds_run(path)) {
        return path +
               " contains a run already: give another folder with --run, continue it with --resume, or "
               "remove "
               "it";
    }
    const auto foreign = foreign_names(path);
    if (foreign.empty()) return "";
    return path + ": error: contains files that no run wrote (" + listed(foreign) +
           "); expected a new or an empty folder: give another one with --run";
}

std::string RunDirectory::prepare(const std::string& path, const std::string& record,
                                  const SaveSizes& sizes) {
    if (auto error = make_folder(path); !error.empty()) return error;
    if (!record.empty()) {
        if (const auto error = base::write_file_atomically(path + "/record.json", record)) return *error;
    }
    for (const char* folder : {"/tensorboard", "/checkpoints"}) {
        if (auto error = make_folder(path + folder); !error.empty()) return error;
    }
    remove_leftovers(path + "/checkpoints");
    for (const char* folder : {"", "/model"}) base::remove_unfinished(path + folder);
    return no_room(path, sizes);
}

StepLog::StepLog(std::string path, const Keep& keep) : path_(std::move(path)) {
    std::string kept;
    for_each_line(path_, [&](std::int64_t step, const base::Json& object, std::string_view line) {
        if (keep(step, object)) kept.append(line).append("\n");
    });
    if (const auto error = base::write_file_atomically(path_, kept)) throw std::runtime_error(*error);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor_ < 0) throw std::runtime_error(failed());
}

StepLog::~StepLog() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

StepLog::StepLog(StepLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      unwritten_(std::move(other.unwritten_)) {}

StepLog& StepLog::operator=(StepLog&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(unwritten_, other.unwritten_);
    return *this;
}

std::string StepLog::failed() const { return "cannot write " + path_ + ": " + std::strerror(errno); }

std::string StepLog::write(const nlohmann::ordered_json& line) {
    const auto text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    unwritten_ += text;
    return flush();
}

// All of it or nothing, so that it can be tried again: a checkpoint may still be saved after a write that
// failed once.
std::string StepLog::flush() {
    const auto end = ::lseek(descriptor_, 0, SEEK_END);
    if (base::write_all(descriptor_, unwritten_)) {
        unwritten_.clear();
        return "";
    }
    auto error = failed();
    if (end >= 0) (void)!::ftruncate(descriptor_, end);
    return error;
}

std::string StepLog::sync() {
    // What still cannot be written was told when it was tried first.
    if (!unwritten_.empty()) flush();
    return ::fsync(descriptor_) == 0 ? "" : failed();
}

StepLog open_metrics(const std::string& path, std::int64_t step, bool evaluated_again) {
    return {path, [=](std::int64_t at, const nlohmann::ordered_json& line) {
                return at <= step && !(evaluated_again && at == step && line.contains(of_evaluation));
            }};
}

std::vector<Evaluation> evaluations_until(const std::string& path, std::int64_t step,
                                          const std::string& metric) {
    std::vector<Evaluation> found;
    for_each_line(path, [&](std::int64_t at, const base::Json& line, std::string_view) {
        if (at <= step && line.contains(of_evaluation))
            found.push_back({at, base::number_of(line, ("eval_" + metric).c_str())});
    });
    return found;
}

StepLog open_changes(const std::string& path, std::int64_t step) {
    return {path, [=](std::int64_t at, const nlohmann::ordered_json&) { return at < step; }};
}

}  // namespace switchyard::train
