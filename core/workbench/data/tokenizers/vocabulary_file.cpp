#include "core/workbench/data/tokenizers/vocabulary_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

namespace {

// "LINE: what is wrong there"; "" for text.
std::string no_text(const std::string& text) {
    const auto at = std::min(text.find('\0'), find_invalid_utf8(text));
    if (at == std::string::npos) return "";
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    return std::to_string(line) + (text[at] == '\0' ? ": holds a NUL byte" : ": is not valid UTF-8");
}

}  // namespace

std::string not_opened(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) error = {ENOENT, std::generic_category()};
    return path + ": cannot be opened: " + error.message();
}

VocabularyFile open_vocabulary(const std::string& path) {
    const std::string expected = "; expected a vocabulary, one token a line";
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        const auto inside = path + "/vocab.txt";
        return {"", path + ": is a folder" + expected +
                        (std::filesystem::exists(inside, ignored) ? ", as " + inside + " is" : "")};
    }
    try {
        auto text = base::read_text(path, base::limits::vocabulary_bytes);
        if (!text) return {"", not_opened(path) + expected};
        auto fault = no_text(*text);
        if (!fault.empty()) return {"", path + ":" + fault + expected};
        return {std::move(*text), ""};
    } catch (const base::InputError& error) {
        // "FILE: error: is larger than ..." becomes a part of a message that says "error" already.
        std::string text = error.what();
        if (const auto word = text.find(": error: "); word != std::string::npos) text.erase(word + 2, 7);
        return {"", text + expected};
    }
}

std::string for_each_token(std::string_view text, const std::function<std::string(std::string_view)>& take) {
    for (std::size_t count = 0; !text.empty(); ++count) {
        if (count == base::limits::vocabulary_entries)
            return std::to_string(count + 1) + ": there are more than " + std::to_string(count) + " tokens";
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (auto fault = take(line); !fault.empty()) return fault;
    }
    return "";
}

std::string Vocabulary::add(std::string_view token) {
    const auto [entry, added] = ids_.try_emplace(std::string(token), size());
    if (!added)
        return std::to_string(size() + 1) + ": '" + base::quoted(token) + "' stands on line " +
               std::to_string(entry->second + 1) + " too";
    tokens_.emplace_back(token);
    return "";
}

std::int64_t Vocabulary::find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
}

std::string Vocabulary::text() const {
    std::string text;
    for (const auto& token : tokens_) text.append(token).append(1, '\n');
    return text;
}

}  // namespace switchyard::data
