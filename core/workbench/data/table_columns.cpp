#include "core/workbench/data/table_columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <string_view>

namespace switchyard::data {
namespace {

// Names that people give, the commonest first.
constexpr std::array label_names{"label", "labels", "class", "category", "sentiment", "intent", "emotion",
                                 "stars", "rating", "score", "target",   "y",         "topic"};
constexpr std::array text_names{"text",  "sentence", "review",  "content",  "body",  "document", "smiles",
                                "tweet", "comment",  "message", "question", "title", "sms",      "utterance"};
constexpr std::array source_names{"source", "src", "input", "document", "article", "en"};
constexpr std::array target_names{"target", "tgt", "output", "summary", "highlights", "translation", "de"};
constexpr std::array<std::pair<const char*, const char*>, 7> pair_names{{{"sentence1", "sentence2"},
                                                                         {"text1", "text2"},
                                                                         {"text_a", "text_b"},
                                                                         {"premise", "hypothesis"},
                                                                         {"question1", "question2"},
                                                                         {"query", "document"},
                                                                         {"question", "sentence"}}};

constexpr double most_label_bytes = 40;

std::string lower(std::string text) {
    for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

const ColumnFacts* named(const Columns& columns, std::string_view name) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const auto& column) { return lower(column.name) == name; });
    return found == columns.end() ? nullptr : &*found;
}

template <class Names>
const ColumnFacts* first_named(const Columns& columns, const Names& names) {
    for (const auto* const name : names)
        if (const auto* const found = named(columns, name)) return found;
    return nullptr;
}

}  // namespace

const ColumnFacts* named_as_text(const Columns& columns) { return first_named(columns, text_names); }
const ColumnFacts* named_as_label(const Columns& columns) { return first_named(columns, label_names); }
const ColumnFacts* named_as_source(const Columns& columns) { return first_named(columns, source_names); }
const ColumnFacts* named_as_target(const Columns& columns) { return first_named(columns, target_names); }

std::pair<const ColumnFacts*, const ColumnFacts*> named_as_pair(const Columns& columns) {
    for (const auto& [first, second] : pair_names) {
        const auto *const a = named(columns, first), *const b = named(columns, second);
        if (a != nullptr && b != nullptr) return {a, b};
    }
    return {nullptr, nullptr};
}

bool is_classes(const ColumnFacts& column) {
    const auto count = column.values.size();
    return !column.many_values && count >= 2 && count <= most_classes &&
           static_cast<std::int64_t>(count) * 2 <= column.rows;
}

char label_separator(const ColumnFacts& column) {
    for (const char separator : {',', ';', '|'}) {
        std::set<std::string> labels;
        std::size_t several = 0;
        for (const auto& entry : column.values) {
            std::string_view rest = entry.first;
            std::size_t end = 0;
            several += rest.find(separator) != std::string_view::npos ? 1 : 0;
            while ((end = rest.find(separator)) != std::string_view::npos) {
                labels.emplace(rest.substr(0, end));
                rest.remove_prefix(end + 1);
            }
            labels.emplace(rest);
        }
        if (several >= 2 && labels.size() < column.values.size()) return separator;
    }
    return 0;
}

const ColumnFacts* likely_label(const Columns& columns, const std::vector<std::string>& texts) {
    if (const auto* const found = named_as_label(columns)) return found;
    const ColumnFacts* best = nullptr;
    for (const auto& column : columns) {
        const bool is_text = std::find(texts.begin(), texts.end(), column.name) != texts.end();
        if (is_classes(column) && !is_text && column.mean_bytes < most_label_bytes) best = &column;
    }
    return best;
}

const ColumnFacts* likely_text(const Columns& columns, const ColumnFacts* label) {
    if (const auto* const found = named_as_text(columns); found != nullptr && found != label) return found;
    const ColumnFacts* longest = nullptr;
    for (const auto& column : columns) {
        if (&column == label || column.numbers) continue;
        if (longest == nullptr || column.mean_bytes > longest->mean_bytes) longest = &column;
    }
    return longest;
}

}  // namespace switchyard::data
