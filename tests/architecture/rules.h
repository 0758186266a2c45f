// The dependency rule of docs/architecture.md as functions over a source tree. Each returns what is wrong, as
// "path:line: text", and nothing when all is well.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace switchyard::architecture {

using Problems = std::vector<std::string>;

/// Includes: which folder may include which, nothing by way of "..", heavy or confined headers only where
/// they belong, and no circle among the folders of core.
Problems check_includes(const std::filesystem::path& root);

/// Core names no plugin: no string literal in core (cli apart, whose defaults are a user's) is the name of a
/// plugin.
Problems check_plugin_names(const std::filesystem::path& root);

/// Functions that only one place may call, as `core/kernel/base/json_text.cpp` alone parses JSON.
Problems check_calls(const std::filesystem::path& root);

/// A namespace of core has the name of its folder: core/kernel/loader is switchyard::loader. The program
/// core/kernel/probe is the loader's, and switchyard::log lies in core/kernel/base.
Problems check_namespaces(const std::filesystem::path& root);

/// No source file is longer than `limit` lines.
Problems check_lengths(const std::filesystem::path& root, int limit);

/// No line that is a comment is longer than `limit` bytes: what clang-format leaves as it is.
Problems check_comments(const std::filesystem::path& root, std::size_t limit);

/// The table under that heading of a document names files that are there.
Problems check_map(const std::filesystem::path& root, const std::string& document,
                   const std::string& heading);

/// Files and folders of this project that comments and documents name by their path exist.
Problems check_named_paths(const std::filesystem::path& root);

/// What core prints goes through streams that escape it (core/kernel/base/terminal.h), and every program sees
/// to that first.
Problems check_output(const std::filesystem::path& root);

/// Tests compile with Catch2 2 and 3, as far as one knows without the other: one of them has matchers under
/// other names.
Problems check_test_library(const std::filesystem::path& root);

/// No two classes or enumerations of core and the SDK have one name in one namespace: linked into one program
/// they would break the one-definition rule, and no compiler says so. What an unnamed namespace holds is its
/// file's own.
Problems check_definitions(const std::filesystem::path& root);

/// Link lines, from the file targets.txt that the build writes: NAME|SOURCES|LINKED TARGETS, lists with ';'.
Problems check_links(const std::filesystem::path& root, const std::filesystem::path& targets);

}  // namespace switchyard::architecture
