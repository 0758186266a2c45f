#include "core/kernel/config/document.h"

#include <algorithm>
#include <climits>

#include <toml++/toml.h>

#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {
namespace {

constexpr std::size_t most_syntax_errors = 20;

Place place_of(const toml::source_region& region) {
    return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Node convert(const toml::node& from) {
    Node node;
    node.place = place_of(from.source());
    from.visit([&node](const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (toml::is_table<T>) {
            for (const auto& [key, member] : value) {
                node.children.push_back(convert(member));
                node.children.back().name = std::string(key.str());
                node.children.back().name_place = place_of(key.source());
            }
            std::ranges::stable_sort(node.children, {}, &Node::name_place);
        } else if constexpr (toml::is_array<T>) {
            node.kind = Node::Kind::array;
            for (const auto& item : value) node.children.push_back(convert(item));
        } else if constexpr (toml::is_chronological<T>) {
            node.kind = Node::Kind::date_time;
        } else {
            node.scalar = value.get();
            node.kind = static_cast<Node::Kind>(node.scalar.index() - 1);
        }
    });
    return node;
}

// Takes away what begins at `line` or after it.
void prune(Node& node, int line) {
    std::erase_if(node.children,
                  [line](const Node& child) { return std::max(child.name_place, child.place).line >= line; });
    for (auto& child : node.children) prune(child, line);
}

// Blanks line `number` if it is a statement of its own, so that the lines after it can still be understood.
bool blank_out(std::string& text, int number, bool header) {
    const auto line = line_of(text, number);
    if (line.empty()) return false;
    const auto begin = static_cast<std::size_t>(line.data() - text.data());
    const std::string_view view = text;
    if (!closed_at_end(view.substr(0, begin))) return false;
    if (!header && !closed_at_end(view.substr(0, begin + line.size() + 1))) return false;
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(begin), line.size(), ' ');
    return true;
}

// The parser's words, as the middle of a sentence.
std::string reworded(std::string_view text) {
    constexpr std::string_view opening = "Error while parsing ";
    return text.starts_with(opening) ? "cannot parse " + std::string(text.substr(opening.size()))
                                     : std::string(text);
}

// A text that is read as far as it makes sense: lines that cannot be understood are told and left out.
class Recovery {
public:
    Recovery(std::string_view text, const std::string& file, Document& document)
        : text_(text), rest_(text), file_(file), document_(document) {}

    void read() {
        while (true) {
            rest_ = with_continuations_escaped(rest_);
            if (const auto stray = stray_character(rest_, file_)) {
                tell(*stray);
                if (!leave_out(stray->line)) last_line_ = std::max(last_line_, stray->line);
                continue;
            }
            try {
                document_.root = convert(toml::parse(rest_, file_));
                return;
            } catch (const toml::parse_error& error) {
                const auto [line, column] = place_of(error.source());
                if (line <= last_line_)
                    return;  // the text before this line, which is all that is left, is no whole either
                tell({.file = file_,
                      .line = line,
                      .column = column,
                      .message = reworded(error.description())});
                last_line_ = line;
                leave_out(line);
            }
        }
    }
    // Lines before this one have surely been understood.
    int reliable() const { return reliable_; }

private:
    void tell(Problem problem) {
        problem.source = line_for_display(text_, problem.line);
        document_.problems.push_back(std::move(problem));
    }

    // False if all that follows is left out too.
    bool leave_out(int line) {
        const auto bad = line_of(rest_, line);
        const auto first = std::min(bad.find_first_not_of(" \t"), bad.size());
        const bool header = bad.substr(first).starts_with('[');
        const bool goes_on = document_.problems.size() < most_syntax_errors && blank_out(rest_, line, header);
        if (header || !goes_on) reliable_ = std::min(reliable_, line);
        // What stands before the error is still worth reading, if it is whole.
        if (!goes_on) rest_.resize(bad.empty() ? 0 : static_cast<std::size_t>(bad.data() - rest_.data()));
        return goes_on;
    }

    std::string_view text_;
    std::string rest_;
    const std::string& file_;
    Document& document_;
    int last_line_ = 0;
    int reliable_ = INT_MAX;
};

}  // namespace

std::string describe(const Node& node) {
    constexpr std::size_t longest = 60;
    if (const auto* text = std::get_if<std::string>(&node.scalar)) {
        return text->size() > longest ? "a string of " + std::to_string(text->size()) + " bytes"
                                      : "the string " + toml_string(*text);
    }
    if (const auto* value = std::get_if<bool>(&node.scalar)) return *value ? "true" : "false";
    if (const auto* value = std::get_if<std::int64_t>(&node.scalar))
        return "the integer " + std::to_string(*value);
    if (const auto* value = std::get_if<double>(&node.scalar)) return "the number " + to_toml(*value);
    if (node.kind == Node::Kind::array) return node.children.empty() ? "an empty list" : "a list";
    return node.kind == Node::Kind::table ? "a table" : "a date or time";
}

Document parse_document(std::string_view text, const std::string& file) {
    Document document;
    Recovery recovery(text, file, document);
    recovery.read();
    std::ranges::stable_sort(document.problems, {}, &Problem::line);
    prune(document.root, recovery.reliable());
    return document;
}

}  // namespace switchyard::config
