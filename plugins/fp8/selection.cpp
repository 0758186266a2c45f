#include "selection.h"

#include <charconv>

#include <switchyard/sdk/name_pattern.h>

namespace switchyard::fp8 {

std::optional<std::int64_t> layer_of(std::string_view name) {
    const auto dot = name.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto number = name.substr(dot + 1, name.find('.', dot + 1) - dot - 1);
    std::int64_t layer = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), layer);
    if (read.ec != std::errc() || read.ptr != number.data() + number.size()) return std::nullopt;
    return layer;
}

bool is_kept(const Keep& keep, std::string_view name) {
    const auto layer = layer_of(name);
    return matches_any(keep.patterns, name) || (layer && *layer < keep.first);
}

bool is_kept(const Keep& keep, const LinearSite& site) {
    if (is_kept(keep, std::string_view(site.name))) return true;
    const auto layer = layer_of(site.name);
    return layer ? *layer >= site.layers - keep.last : keep.last > 0;
}

double intensity(std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto r = static_cast<double>(rows), i = static_cast<double>(in), o = static_cast<double>(out);
    const double cast = r * i + r * o + i * o;
    return cast > 0.0 ? r * i * o / cast : 0.0;
}

}  // namespace switchyard::fp8
