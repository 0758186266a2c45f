#include <switchyard/data/vocabulary_file.h>

#include <filesystem>

#include <switchyard/base/input_error.h>
#include <switchyard/base/read_text.h>

namespace switchyard::data {

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
        if (!text) return {"", path + ": cannot be opened" + expected};
        return {std::move(*text), ""};
    } catch (const base::InputError& error) {
        return {"", error.what() + expected};
    }
}

std::string for_each_token(std::string_view text, const std::function<std::string(std::string_view)>& take) {
    for (std::size_t count = 0; !text.empty(); ++count) {
        if (count == base::limits::vocabulary_entries)
            return std::to_string(count + 1) + ": there are more than " + std::to_string(count) + " tokens";
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (auto fault = take(line); !fault.empty()) return fault;
    }
    return "";
}

}  // namespace switchyard::data
