#include "core/kernel/config/layer_pattern.h"

#include <charconv>
#include <optional>
#include <set>

#include "core/kernel/config/value.h"

namespace switchyard::config {
namespace {

constexpr std::size_t longest_pattern = 256;
constexpr char grammar[] =
    "\"*\", or encoder or decoder with numbers, ranges or *: \"encoder.0-3,11\", \"decoder.*\"";

struct Span {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    return read.ec == std::errc{} && read.ptr == end && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<Span> span(std::string_view item, std::int64_t count) {
    const auto start = std::min(item.find_first_not_of(' '), item.size());
    item = item.substr(start, item.find_last_not_of(' ') + 1 - start);
    if (item == "*") return Span{0, count - 1};
    const auto dash = item.find('-');
    const auto first = number(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    return Span{*first, *last};
}

PatternResult wrong(std::string_view pattern, const std::string& why, const std::string& expected) {
    return {{}, toml_string(pattern) + ' ' + why, expected};
}

}  // namespace

std::string to_string(const LayerId& layer) {
    return std::string(name(layer.stack)) + '.' + std::to_string(layer.index);
}

PatternResult match_layers(std::string_view pattern, const ModelConfig& model) {
    if (pattern.size() > longest_pattern) {
        return {{},
                "a pattern of " + std::to_string(pattern.size()) + " characters",
                "at most " + std::to_string(longest_pattern)};
    }
    std::set<LayerId> found;
    const auto insert = [&](Stack stack, Span span) {
        for (auto i = span.first; i <= span.last; ++i) found.insert({stack, i});
    };
    if (pattern == "*") {
        for (const Stack stack : {Stack::encoder, Stack::decoder})
            insert(stack, {0, model.layers_of(stack) - 1});
        return {{found.begin(), found.end()}, {}, {}};
    }
    const auto dot = pattern.find('.');
    const auto stack = parse<Stack>(pattern.substr(0, dot));
    if (!stack || dot == std::string_view::npos) return wrong(pattern, "is not a pattern of layers", grammar);
    const std::int64_t count = model.layers_of(*stack);
    if (count == 0) {
        const auto other = name(*stack == Stack::encoder ? Stack::decoder : Stack::encoder);
        return wrong(pattern, "matches no layer",
                     std::string(other) + ".*: a " + std::string(name(model.type)) + " has no " +
                         std::string(name(*stack)));
    }
    std::string_view rest = pattern.substr(dot + 1);
    for (bool more = true; more;) {
        const auto comma = rest.find(',');
        const auto range = span(rest.substr(0, comma), count);
        more = comma != std::string_view::npos;
        rest.remove_prefix(more ? comma + 1 : rest.size());
        if (!range) return wrong(pattern, "is not a pattern of layers", grammar);
        if (range->last >= count) {
            return wrong(
                pattern, "names layer " + std::to_string(range->last) + ", which is not there",
                count == 1 ? "0: there is one layer" : "layers from 0 to " + std::to_string(count - 1));
        }
        insert(*stack, *range);
    }
    return {{found.begin(), found.end()}, {}, {}};
}

}  // namespace switchyard::config
