// A file of tokens, one a line, as tokenizers begin with. Its size is bounded (limits::vocabulary_bytes,
// vocabulary_entries).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace switchyard::data {

struct VocabularyFile {
    std::string text;
    std::string error;  // "FILE: ...": it cannot be read
};

VocabularyFile open_vocabulary(const std::string& path);

// Calls `take` with each line, without its end, until it returns what is wrong with one; then returns that,
// or "LINE: there are more than ...".
std::string for_each_token(std::string_view text, const std::function<std::string(std::string_view)>& take);

}  // namespace switchyard::data
