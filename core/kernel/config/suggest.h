// "did you mean": the candidate nearest to a word with a typo.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::config {

// The candidate nearest to `word` by edit distance (insertions, deletions, replacements and swapped
// neighbours; case and - against _ do not count), or that begins with it, or what it is called elsewhere, as
// gpu for cuda; empty where none is near enough to be what was meant.
std::string suggest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean WHAT?", or nothing for nothing.
std::string did_you_mean(const std::string& what);

}  // namespace switchyard::config
