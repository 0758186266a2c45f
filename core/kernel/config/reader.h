// From a parsed text to assignments: every key looked up, every value checked by itself. What depends on
// several keys is checked when all of them are known (derive.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/arm_config.h"
#include "core/kernel/config/document.h"
#include "core/kernel/config/group_config.h"
#include "core/kernel/config/layer_rule.h"
#include "core/kernel/config/load.h"
#include "core/kernel/config/problem.h"
#include "core/kernel/config/source_config.h"

namespace switchyard::config {

// What has been gathered from all texts so far, in the order in which it counts.
struct Reading {
    std::vector<Assignment> assignments;
    std::vector<LayerRule> rules;  // `layers` still empty
    std::vector<ArmConfig> arms;
    std::vector<SourceConfig> sources;
    std::vector<GroupConfig> groups;
    std::vector<Problem> problems;
    std::size_t untold = 0;  // problems beyond most_problems
    // Keys for which something wrong was written: no conclusions are drawn from their values.
    std::set<std::string> doubtful;
};

inline constexpr std::size_t most_problems = 100;
inline constexpr std::size_t most_rules = 1000;
inline constexpr std::size_t most_arms = 100;
inline constexpr std::size_t most_sources = 1000;
inline constexpr std::size_t most_groups = 1000;

struct TextSource {
    std::string file;  // for problems
    std::string text;
    std::string directory;  // that relative paths in it start from
    Origin origin;          // of its values, without a place
    bool recorded = false;  // by a run: keys may have the names of earlier versions
};

// "attention.options.chunked.chunk_size"
std::string full_key(const Assignment& assignment);

// [model] from: the folder of a trained model, whose values come before those of the text that names it.
inline constexpr std::string_view model_section = "model", model_folder_key = "from";

// Reads all but `preset`, `include` and [model] from.
void read_tree(const Node& root, const TextSource& source, const OptionSchemas* schemas, Reading& reading);

// The Problem at a place of a text; load() adds the line for display.
Problem problem_at(const TextSource& source, Place place, std::string key, std::string message,
                   std::string expected = {}, std::string hint = {});

}  // namespace switchyard::config
