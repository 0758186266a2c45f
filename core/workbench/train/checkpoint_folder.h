// Which checkpoints lie in the folder `checkpoints` of a run, and which of them stay: the newest ones and the
// best one, which best.json names.
//
// best.json is written when its checkpoint is whole, and no checkpoint is removed before: a crash at any
// moment leaves the best one of before or the new one, with the file that names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/kernel/base/atomic_file.h"

namespace switchyard::train {

inline constexpr const char* checkpoint_aside_prefix = ".writing-";

// "step-00000120"
std::string checkpoint_name(std::int64_t step);
// nullopt: no name of a checkpoint.
std::optional<std::int64_t> checkpoint_step(const std::filesystem::path& checkpoint);

// Paths by steps: names of more than eight digits do not sort as text. Of two of one step that which
// checkpoint_name names.
std::map<std::int64_t, std::string> checkpoints_in(const std::string& folder);

// The checkpoint of the most steps below `folder`, nullopt if there is none. A damaged one counts: whether to
// go on from an older one is not for a program to decide.
std::optional<std::string> newest_checkpoint(const std::string& folder);

// Renames `aside`, a whole checkpoint in `folder`, to the one of that step, durably. One that is there makes
// way under a name with more zeros, which says the same step, and is then removed: whenever a kill comes, a
// whole checkpoint of that step is there.
base::FileError place_checkpoint(const std::string& folder, const std::string& aside, std::int64_t step);

// Removes what a killed save left below `folder`.
void remove_leftovers(const std::string& folder);

// All but the newest `keep`, at least one, and the best.
void remove_old_checkpoints(const std::string& folder, std::int64_t keep);

// What best.json says: the step of the best evaluation of a run, by which metric ("eval.accuracy"), and what
// that was.
struct BestMark {
    std::int64_t step = 0;
    std::string metric;
    double value = 0.0;
    bool operator==(const BestMark&) const = default;
};

// nullopt: none is marked. Throws base::InputError for a file that says something else.
std::optional<BestMark> read_best(const std::string& folder);

// The checkpoint of that step is there. Removes the one that was the best before, if it is old.
base::FileError mark_best(const std::string& folder, const BestMark& best, std::int64_t keep);

}  // namespace switchyard::train
