#include <switchyard/config/document.h>

#include <algorithm>
#include <climits>
#include <optional>

#include <toml++/toml.h>

#include <switchyard/config/guard_text.h>
#include <switchyard/config/value.h>

namespace switchyard::config {
namespace {

constexpr std::size_t most_syntax_errors = 20;

Place place_of(const toml::source_region& region) {
    return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Node convert(const toml::node& from) {
    Node node;
    node.place = place_of(from.source());
    switch (from.type()) {
        case toml::node_type::boolean:
            node.kind = Node::Kind::boolean;
            node.scalar = from.as_boolean()->get();
            break;
        case toml::node_type::integer:
            node.kind = Node::Kind::integer;
            node.scalar = from.as_integer()->get();
            break;
        case toml::node_type::floating_point:
            node.kind = Node::Kind::number;
            node.scalar = from.as_floating_point()->get();
            break;
        case toml::node_type::string:
            node.kind = Node::Kind::string;
            node.scalar = from.as_string()->get();
            break;
        case toml::node_type::array:
            node.kind = Node::Kind::array;
            for (const auto& item : *from.as_array()) node.children.push_back(convert(item));
            break;
        case toml::node_type::table:
            for (const auto& [key, value] : *from.as_table()) {
                node.children.push_back(convert(value));
                node.children.back().name = std::string(key.str());
                node.children.back().name_place = place_of(key.source());
            }
            std::stable_sort(node.children.begin(), node.children.end(),
                             [](const Node& a, const Node& b) { return a.name_place < b.name_place; });
            break;
        default:
            node.kind = Node::Kind::date_time;
            break;
    }
    return node;
}

struct Line {
    std::size_t begin;
    std::size_t end;
};

std::optional<Line> find_line(std::string_view text, int number) {
    std::size_t begin = 0;
    for (int line = 1; line < number; ++line) {
        begin = text.find('\n', begin);
        if (begin == std::string_view::npos) return std::nullopt;
        ++begin;
    }
    return Line{begin, std::min(text.find('\n', begin), text.size())};
}

bool is_header(std::string_view line) {
    const auto first = line.find_first_not_of(" \t");
    return first != std::string_view::npos && line[first] == '[';
}

// Blanks line `number` if it is a statement of its own, so that the lines after it can still be understood.
bool blank_out(std::string& text, int number) {
    const auto line = find_line(text, number);
    if (!line || line->begin == line->end) return false;
    const std::string_view view = text;
    if (!closed_at_end(view.substr(0, line->begin))) return false;
    const bool header = is_header(view.substr(line->begin, line->end - line->begin));
    if (!header && !closed_at_end(view.substr(0, line->end + 1))) return false;
    text.replace(line->begin, line->end - line->begin, line->end - line->begin, ' ');
    return true;
}

// The parser's words, as the middle of a sentence.
std::string reworded(std::string_view text) {
    constexpr std::string_view opening = "Error while parsing ";
    if (text.substr(0, opening.size()) != opening) return std::string(text);
    return "cannot parse " + std::string(text.substr(opening.size()));
}

}  // namespace

std::string describe(const Node& node) {
    constexpr std::size_t longest = 60;
    switch (node.kind) {
        case Node::Kind::boolean:
            return std::get<bool>(node.scalar) ? "true" : "false";
        case Node::Kind::integer:
            return "the integer " + std::to_string(std::get<std::int64_t>(node.scalar));
        case Node::Kind::number:
            return "the number " + to_toml(std::get<double>(node.scalar));
        case Node::Kind::string: {
            const auto& text = std::get<std::string>(node.scalar);
            return text.size() > longest ? "a string of " + std::to_string(text.size()) + " bytes"
                                         : "the string " + toml_string(text);
        }
        case Node::Kind::date_time:
            return "a date or time";
        case Node::Kind::array:
            return node.children.empty() ? "an empty list" : "a list";
        case Node::Kind::table:
            return "a table";
    }
    return "something else";
}

Document parse_document(std::string_view text, const std::string& file) {
    Document document;
    document.reliable_lines = INT_MAX;
    std::string rest(text);
    int last_line = 0;
    while (true) {
        try {
            document.root = convert(toml::parse(rest, file));
            return document;
        } catch (const toml::parse_error& error) {
            const Place place = place_of(error.source());
            document.problems.push_back({.file = file,
                                         .line = place.line,
                                         .column = place.column,
                                         .message = reworded(error.description()),
                                         .source = line_for_display(text, place.line)});
            const auto line = find_line(rest, place.line);
            const bool header =
                line && is_header(std::string_view(rest).substr(line->begin, line->end - line->begin));
            if (header) document.reliable_lines = std::min(document.reliable_lines, place.line);
            const bool can_go_on = place.line > last_line && document.problems.size() < most_syntax_errors;
            last_line = place.line;
            if (!can_go_on || !blank_out(rest, place.line)) break;
        }
    }
    // No end in sight: what stands before the error's line is still worth reading, if it is whole.
    document.reliable_lines = std::min(document.reliable_lines, last_line - 1);
    const auto line = find_line(rest, last_line);
    try {
        document.root = convert(toml::parse(std::string_view(rest).substr(0, line ? line->begin : 0), file));
    } catch (const toml::parse_error&) {
        document.root = {};
    }
    return document;
}

}  // namespace switchyard::config
