// A file of tokens, one a line, as tokenizers begin with. Its size is bounded (limits::vocabulary_bytes,
// vocabulary_entries).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace switchyard::data {

struct VocabularyFile {
    std::string text;
    std::string error;  // "FILE: ...": it cannot be read
};

VocabularyFile open_vocabulary(const std::string& path);

// "FILE: cannot be opened: No such file or directory", of a file that is not there or not to be seen.
std::string not_opened(const std::string& path);

// Calls `take` with each line, without its end, until it returns what is wrong with one; then returns that,
// or "LINE: there are more than ...".
std::string for_each_token(std::string_view text, const std::function<std::string(std::string_view)>& take);

// Tokens and their numbers: that of a token is its line, counted from 0.
class Vocabulary {
public:
    // "", or "LINE: 'TOKEN' stands on line LINE too".
    std::string add(std::string_view token);
    std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
    const std::string& token(std::int64_t id) const { return tokens_.at(static_cast<std::size_t>(id)); }
    // -1: there is no such token.
    std::int64_t find(std::string_view token) const;
    // What a file of it holds.
    std::string text() const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    std::vector<std::string> tokens_;
    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace switchyard::data
