#include "core/workbench/data/tokenizers/pipeline/match_pattern.h"

#include <utility>

#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

// `find(from, match)`: the next match from there.
template <class Find>
void collect_matches(std::string_view text, const Find& find, std::vector<Stretch>& stretches) {
    std::size_t covered = 0, from = 0;
    bool any = false;
    TextMatch match;
    while (from <= text.size() && find(from, match)) {
        if (match.begin == match.end && any && match.end == covered) {
            if (from >= text.size()) break;
            from += code_point_at(text, from).size;
            continue;
        }
        if (covered < match.begin) stretches.push_back({covered, match.begin, false});
        stretches.push_back({match.begin, match.end, true});
        covered = from = match.end;
        any = true;
    }
    if (covered < text.size()) stretches.push_back({covered, text.size(), false});
}

}  // namespace

MatchPattern MatchPattern::literal(std::string text) {
    MatchPattern pattern;
    pattern.literal_ = std::move(text);
    return pattern;
}

MatchPattern MatchPattern::expression(const std::string& text) {
    MatchPattern pattern;
    pattern.expression_ = std::make_shared<const Expression>(text);
    return pattern;
}

void MatchPattern::find_all(std::string_view text, std::vector<Stretch>& stretches) const {
    stretches.clear();
    if (text.empty()) return;
    if (expression_) {
        Expression::Search search(*expression_, text);
        return collect_matches(
            text, [&](std::size_t from, TextMatch& match) { return search.find(from, match); }, stretches);
    }
    collect_matches(
        text,
        [&](std::size_t from, TextMatch& match) {
            const auto at = text.find(literal_, from);
            match = {at, at + literal_.size()};
            return at != std::string_view::npos;
        },
        stretches);
}

}  // namespace switchyard::data
