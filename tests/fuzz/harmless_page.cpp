// A page that is made of hostile texts must still hold nothing but what its maker wrote: the tags and
// attributes listed here, attributes in double quotes, every tag closed by its own. What is not listed - a
// script but the one that sorts tables, an event handler, a link to outside - is found whatever it is called.
#include <algorithm>
#include <set>

#include "core/workbench/report/page_script.h"

#include "fuzz.h"

namespace switchyard::fuzz {
namespace {

using Names = std::set<std::string, std::less<>>;

const Names tags{"body",   "br",    "circle",  "code",       "dd",     "desc",   "details", "div",
                 "dl",     "dt",    "em",      "figcaption", "figure", "footer", "g",       "h1",
                 "h2",     "h3",    "head",    "header",     "html",   "li",     "line",    "main",
                 "meta",   "p",     "path",    "polyline",   "pre",    "rect",   "section", "span",
                 "strong", "style", "summary", "svg",        "table",  "tbody",  "td",      "text",
                 "th",     "thead", "title",   "tr",         "ul"};

const Names attributes{"aria-hidden",
                       "aria-label",
                       "aria-labelledby",
                       "charset",
                       "class",
                       "content",
                       "cx",
                       "cy",
                       "d",
                       "data-label",
                       "data-sort",
                       "fill-opacity",
                       "height",
                       "lang",
                       "name",
                       "open",
                       "points",
                       "preserveAspectRatio",
                       "r",
                       "role",
                       "rx",
                       "scope",
                       "stroke-dasharray",
                       "style",
                       "tabindex",
                       "text-anchor",
                       "viewBox",
                       "width",
                       "x",
                       "x1",
                       "x2",
                       "y",
                       "y1",
                       "y2"};

const std::string own_script = "script>\n" + std::string(report::sort_script) + "</script>";

class Page {
public:
    explicit Page(std::string_view html) : rest_(html) {}

    void check() {
        expect("<!DOCTYPE html>");
        while (!rest_.empty()) {
            const auto at = rest_.find('<');
            check_text(rest_.substr(0, at));
            if (at == std::string_view::npos) break;
            rest_.remove_prefix(at + 1);
            if (rest_.starts_with(own_script))
                rest_.remove_prefix(own_script.size());
            else if (take('/'))
                close_tag();
            else
                open_tag();
        }
        require(open_.empty(), "a tag is never closed", open_.empty() ? "" : open_.back());
    }

private:
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(std::string_view text) {
        require(rest_.starts_with(text), "expected",
                std::string(text) + " at " + std::string(rest_.substr(0, 80)));
        rest_.remove_prefix(text.size());
    }
    std::string name() {
        const auto end = rest_.find_first_of(" \n\t=>/\"'<");
        require(end != std::string_view::npos && end > 0, "no name in a tag", rest_.substr(0, 80));
        const std::string found(rest_.substr(0, end));
        rest_.remove_prefix(end);
        return found;
    }
    static void check_text(std::string_view text) {
        require(text.find('>') == std::string_view::npos, "a raw > in a text", text);
    }

    void close_tag() {
        const auto closed = name();
        expect(">");
        require(!open_.empty() && open_.back() == closed, "closes what is not open", closed);
        open_.pop_back();
    }

    void open_tag() {
        const auto tag = name();
        require(tags.contains(tag), "a tag that no page has", tag);
        while (rest_.starts_with(' ') || rest_.starts_with('\n')) {
            rest_.remove_prefix(1);
            if (rest_.starts_with('/') || rest_.starts_with('>')) break;
            const auto attribute = name();
            require(attributes.contains(attribute), "an attribute that no page has", tag + " " + attribute);
            if (!take('=')) continue;
            expect("\"");
            const auto end = rest_.find('"');
            require(end != std::string_view::npos, "an attribute without end", attribute);
            const auto value = rest_.substr(0, end);
            require(value.find_first_of("<>") == std::string_view::npos, "a raw bracket in an attribute",
                    value);
            rest_.remove_prefix(end + 1);
        }
        const bool empty = take('/');
        expect(">");
        if (tag == "style") {
            rest_.remove_prefix(std::min(rest_.find("</style>"), rest_.size()));
        }
        if (!empty) open_.push_back(tag);
    }

    std::string_view rest_;
    std::vector<std::string> open_;
};

}  // namespace

void require_harmless_page(std::string_view html) {
    constexpr std::size_t largest = 500'000;  // as run_report.h promises
    require(html.size() < largest, "the page is larger than promised", std::to_string(html.size()));
    require(code_points(html).has_value(), "the page is no UTF-8");
    Page(html).check();
}

}  // namespace switchyard::fuzz
