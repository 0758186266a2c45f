#include "core/workbench/train/checkpoint_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/log.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* step_prefix = "step-";

std::string best_file(const std::string& folder) { return folder + "/best.json"; }

bool is_checkpoint(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path / "state.json", ignored);
}

base::FileError renamed(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return std::nullopt;
    return "cannot rename " + from + ": " + std::strerror(errno);
}

// Renamed before it is removed, so that a half-removed one is never taken for a checkpoint.
void remove_checkpoint(const std::string& folder, const std::string& path) {
    std::error_code error;
    const auto doomed = folder + "/" + checkpoint_aside_prefix + "old";
    fs::rename(path, doomed, error);
    if (!error) fs::remove_all(doomed, error);
    if (error)
        log::warning("The old checkpoint " + path + " could not be removed completely (" + error.message() +
                     "): its files take space in " + folder + " until the next save removes them.");
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
    std::string digits = std::to_string(step);
    return step_prefix + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits;
}

std::optional<std::int64_t> checkpoint_step(const fs::path& checkpoint) {
    const auto name = checkpoint.filename().string();
    if (!name.starts_with(step_prefix)) return std::nullopt;
    std::int64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + std::strlen(step_prefix), end, step);
    if (parsed.ec != std::errc() || parsed.ptr != end || step < 0) return std::nullopt;
    return step;
}

std::map<std::int64_t, std::string> checkpoints_in(const std::string& folder) {
    std::map<std::int64_t, std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const auto step = checkpoint_step(entry.path());
        if (!step || !is_checkpoint(entry.path())) continue;
        auto& path = found[*step];
        if (path.empty() || entry.path().filename() == checkpoint_name(*step)) path = entry.path().string();
    }
    return found;
}

std::optional<std::string> newest_checkpoint(const std::string& folder) {
    const auto all = checkpoints_in(folder);
    return all.empty() ? std::nullopt : std::optional(all.rbegin()->second);
}

base::FileError place_checkpoint(const std::string& folder, const std::string& aside, std::int64_t step) {
    const auto name = checkpoint_name(step);
    const auto target = folder + "/" + name;
    const auto before = folder + "/" + step_prefix + "0" + name.substr(std::strlen(step_prefix));
    const bool replaces = is_checkpoint(target);
    if (replaces && is_checkpoint(before)) remove_checkpoint(folder, before);  // a kill left it
    if (replaces) {
        if (auto failed = renamed(target, before)) return failed;
    }
    if (auto failed = renamed(aside, target)) {
        if (replaces) (void)renamed(before, target);
        return failed;
    }
    if (auto unsynced = base::sync_folder(folder)) return unsynced;
    if (is_checkpoint(before)) remove_checkpoint(folder, before);
    return std::nullopt;
}

void remove_leftovers(const std::string& folder) {
    std::error_code ignored;
    std::vector<fs::path> leftovers;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().filename().string().starts_with(checkpoint_aside_prefix))
            leftovers.push_back(entry.path());
    }
    for (const auto& path : leftovers) fs::remove_all(path, ignored);
}

void remove_old_checkpoints(const std::string& folder, std::int64_t keep) {
    const auto all = checkpoints_in(folder);
    auto left = static_cast<std::int64_t>(all.size());
    std::optional<BestMark> best;
    try {
        best = read_best(folder);
    } catch (const base::InputError& error) {
        log::warning("Old checkpoints in " + folder +
                     " could not be removed completely: it is not known which is the best (" + error.what() +
                     ").");
        return;
    }
    for (const auto& [step, path] : all) {
        if (left-- <= std::max<std::int64_t>(1, keep)) return;
        if (best && best->step == step) continue;
        remove_checkpoint(folder, path);
    }
}

std::optional<BestMark> read_best(const std::string& folder) {
    const auto text = base::read_text(best_file(folder));
    if (!text) return std::nullopt;
    const auto object = base::parse_object(*text, best_file(folder));
    try {
        return BestMark{base::needed_integer(object, "step"), base::needed_text(object, "metric"),
                        base::needed_number(object, "value")};
    } catch (const base::InputError& error) {
        throw base::InputError(best_file(folder) + ": error: " + error.what());
    }
}

base::FileError mark_best(const std::string& folder, const BestMark& best, std::int64_t keep) {
    const nlohmann::ordered_json object{{"step", best.step}, {"metric", best.metric}, {"value", best.value}};
    if (auto error = base::write_file_atomically(best_file(folder), object.dump() + "\n")) return error;
    remove_old_checkpoints(folder, keep);
    return std::nullopt;
}

}  // namespace switchyard::train
