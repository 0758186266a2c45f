#include "core/workbench/data/row_place.h"

#include <algorithm>

namespace switchyard::data {
namespace {

// Where byte `byte` of field `field` stands in a record of CSV.
std::size_t csv_offset(std::string_view text, std::size_t field, std::size_t byte) {
    bool quoted = false;
    bool begun = false;  // the field has something in it, or a quotation mark
    std::size_t in_field = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (field == 0 && in_field == byte && !(c == '"' && !begun)) return at;
        if (c == '"' && !quoted && !begun) {
            quoted = begun = true;
            continue;
        }
        if (quoted && c == '"') {
            const bool escaped = at + 1 < text.size() && text[at + 1] == '"';
            quoted = escaped;
            if (!escaped) continue;
            ++at;
        } else if (!quoted && c == ',') {
            if (field == 0) return at;
            --field;
            begun = false;
            in_field = 0;
            continue;
        }
        begun = true;
        in_field += field == 0 ? 1 : 0;
    }
    return text.size();
}

std::size_t tsv_offset(std::string_view text, std::size_t field, std::size_t byte) {
    std::size_t begin = 0;
    for (; field > 0; --field) {
        const auto tab = text.find('\t', begin);
        if (tab == std::string_view::npos) return text.size();
        begin = tab + 1;
    }
    return std::min(begin + byte, text.size());
}

// Behind the text in quotation marks that begins at `at`.
std::size_t behind_text(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    return std::min(at + 1, text.size());
}

// Where the value of a key of the outermost object begins; 0: nowhere. Keys are compared as they are written.
std::size_t json_offset(std::string_view text, std::string_view key) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c != '"') {
            depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
            ++at;
            continue;
        }
        const auto end = behind_text(text, at);
        const auto colon = text.find_first_not_of(" \t", end);
        const bool is_key = depth == 1 && colon != std::string_view::npos && text[colon] == ':';
        if (is_key && text.substr(at + 1, end - at - 2) == key)
            return std::min(text.find_first_not_of(" \t", colon + 1), text.size());
        at = end;
    }
    return 0;
}

std::size_t offset_in(const RowText& row, std::size_t value, std::size_t byte) {
    switch (row.format) {
        case RowFormat::csv:
            return csv_offset(row.text, row.fields[value], byte);
        case RowFormat::tsv:
        case RowFormat::tab:
            return tsv_offset(row.text, row.fields[value], byte);
        case RowFormat::jsonl:
            return value < row.keys.size() ? json_offset(row.text, row.keys[value]) : 0;
        default:
            return std::min(byte, row.text.size());
    }
}

}  // namespace

std::string to_string(const RowPlace& place) {
    return std::to_string(place.line) + ":" + std::to_string(place.column);
}

RowPlace place_in(const RowText& row, std::int64_t line, std::size_t value, std::string_view content,
                  std::size_t byte) {
    if (row.format == RowFormat::parquet)
        return {line, value < row.fields.size() ? static_cast<std::int64_t>(row.fields[value]) + 1 : 1};
    RowText whole = row;
    if (whole.text.empty()) whole = {RowFormat::text, content, {}, {}};
    const auto before = whole.text.substr(0, offset_in(whole, value, byte));
    const auto last_end = before.rfind('\n');
    const auto start = last_end == std::string_view::npos ? 0 : last_end + 1;
    return {line + std::ranges::count(before, '\n'), static_cast<std::int64_t>(before.size() - start) + 1};
}

}  // namespace switchyard::data
