#include "core/workbench/bench/bench_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <switchyard/interfaces/relative_buckets.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::bench {

namespace {

template <class Number>
bool read_number(std::string_view text, Number& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// A positive whole number after '=', or `otherwise` where there is no '='.
std::string read_count(const std::string& name, const std::optional<std::string>& value,
                       std::int64_t otherwise, std::int64_t& count) {
    if (!value && otherwise > 0) return count = otherwise, "";
    if (value && read_number(*value, count) && count > 0) return "";
    return name + " needs a whole number above 0, as in " + name + "=128";
}

}  // namespace

std::int64_t LengthRange::at(double uniform) const {
    const auto between = [](std::int64_t low, std::int64_t high, double part) {
        const auto length = low + static_cast<std::int64_t>(part * static_cast<double>(high - low + 1));
        return std::min(length, high);
    };
    if (median == 0) return between(min, max, uniform);
    if (uniform < 0.5) return between(min, median, 2.0 * uniform);
    // Of data like molecules' SMILES: one in ten is twice the median, one in a hundred nearly the largest.
    const double rest = std::pow(2.0 * uniform - 1.0, 6.0);
    const double factor = std::pow(static_cast<double>(max) / static_cast<double>(median), rest);
    return std::min(static_cast<std::int64_t>(static_cast<double>(median) * factor), max);
}

std::string LengthRange::text() const {
    if (median > 0) return std::to_string(median) + ":" + std::to_string(max);
    return std::to_string(min) + "-" + std::to_string(max);
}

MaskSet BenchSettings::masks() const {
    MaskSet set;
    if (causal) set.insert(MaskKind::causal);
    if (layout == Layout::packed) set.insert(MaskKind::documents);
    if (layout == Layout::padded && lengths) set.insert(MaskKind::key_lengths);
    if (window > 0) set.insert(MaskKind::sliding_window);
    if (prefix > 0) set.insert(MaskKind::prefix);
    if (alibi) set.insert(MaskKind::alibi);
    if (relative_buckets > 0) set.insert(MaskKind::relative_bias);
    if (soft_cap > 0.0) set.insert(MaskKind::soft_cap);
    if (dense_bias) set.insert(MaskKind::dense_bias);
    return set;
}

std::string BenchSettings::describe() const {
    std::string text;
    if (kind == Kind::attention) {
        if (layout == Layout::packed) base::add_item(text, "packed");
        if (causal) base::add_item(text, "causal");
        if (lengths) base::add_item(text, "lengths " + lengths->text());
        if (window > 0) base::add_item(text, "sliding_window " + std::to_string(window));
        if (prefix > 0) base::add_item(text, "prefix " + std::to_string(prefix));
        if (alibi) base::add_item(text, "alibi");
        if (relative_buckets > 0) base::add_item(text, "relative_bias " + std::to_string(relative_buckets));
        if (soft_cap > 0.0) base::add_item(text, "soft_cap " + base::digits(soft_cap));
        if (dense_bias) base::add_item(text, "dense_bias");
        if (query_offsets) base::add_item(text, "query_offsets");
        if (custom_scale) base::add_item(text, "custom_scale");
    }
    if (kind == Kind::normalization) base::add_item(text, name(norm));
    if (kind == Kind::activation) base::add_item(text, name(activation));
    const bool of_rows = kind == Kind::normalization || kind == Kind::activation;
    if (bias && (of_rows || kind == Kind::linear)) base::add_item(text, "bias");
    if (residual && kind == Kind::normalization) base::add_item(text, "residual");
    if (kind == Kind::loss) {
        if (label_smoothing > 0.0) base::add_item(text, "label_smoothing " + base::digits(label_smoothing));
        if (z_loss > 0.0) base::add_item(text, "z_loss " + base::digits(z_loss));
        if (in_place) base::add_item(text, "in place");
    }
    if (kind == Kind::optimizer) {
        base::add_item(text, name(algorithm));
        if (max_grad_norm > 0.0) base::add_item(text, "clip " + base::digits(max_grad_norm));
    }
    if (dropout > 0.0 && (of_rows || kind == Kind::attention))
        base::add_item(text, "dropout " + base::digits(dropout));
    return text;
}

std::string read_mask(const std::string& text, BenchSettings& settings) {
    const auto equals = text.find('=');
    const std::string kind_text = text.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = text.substr(equals + 1);
    const auto kind = parse<MaskKind>(kind_text);
    if (!kind)
        return "'" + base::quoted(kind_text) + "' is not a mask; known: " + base::joined(names<MaskKind>);
    switch (*kind) {
        case MaskKind::sliding_window:
            return read_count(kind_text, value, 0, settings.window);
        case MaskKind::prefix:
            return read_count(kind_text, value, 0, settings.prefix);
        case MaskKind::relative_bias:
            return read_count(kind_text, value, 32, settings.relative_buckets);
        case MaskKind::key_lengths:
            return value ? read_lengths(*value, settings.lengths)
                         : "key_lengths needs a range, as in key_lengths=64-512";
        case MaskKind::soft_cap:
            return value && read_number(*value, settings.soft_cap) && settings.soft_cap > 0.0
                       ? ""
                       : "soft_cap needs a number above 0, as in soft_cap=30";
        default:
            break;
    }
    if (value) return kind_text + " takes no value";
    if (*kind == MaskKind::causal) settings.causal = true;
    if (*kind == MaskKind::alibi) settings.alibi = true;
    if (*kind == MaskKind::dense_bias) settings.dense_bias = true;
    if (*kind == MaskKind::documents) settings.layout = Layout::packed;
    return "";
}

std::string read_lengths(const std::string& text, std::optional<LengthRange>& lengths) {
    LengthRange range;
    const auto colon = text.find(':');
    if (colon != std::string::npos) {
        const auto view = std::string_view(text);
        if (!read_number(view.substr(0, colon), range.median) ||
            !read_number(view.substr(colon + 1), range.max) || range.median < 1 || range.max < range.median)
            return "'" + text + "' is not a median and a largest length, as in 40:512";
        range.min = (range.median + 1) / 2;
        lengths = range;
        return "";
    }
    const auto dash = text.find('-');
    const bool good =
        read_number(std::string_view(text).substr(0, dash), range.min) &&
        (dash == std::string::npos || read_number(std::string_view(text).substr(dash + 1), range.max));
    if (dash == std::string::npos) range.max = range.min;
    if (!good || range.min < 0 || range.max < range.min)
        return "'" + text +
               "' is neither a range of lengths, as in 64-512, nor a median and a largest length, as in "
               "40:512";
    lengths = range;
    return "";
}

std::string check_settings(const BenchSettings& settings, const BenchShape& shape) {
    if (settings.kind == Kind::loss && settings.in_place && shape.width > 0)
        return "--in-place is for given logits; --shape " + shape.text + " has a projection";
    if (settings.kind != Kind::attention) return "";
    // Without offsets the queries of a row are as many as its keys at the most.
    const auto most = settings.query_offsets ? shape.kv_length : std::min(shape.q_length, shape.kv_length);
    if (settings.lengths && settings.lengths->max > most) {
        return "lengths up to " + std::to_string(settings.lengths->max) + " do not fit --shape " + shape.text;
    }
    if (settings.layout == Layout::packed && settings.lengths && shape.q_length != shape.kv_length) {
        return "packed sequences of drawn lengths need as many queries as keys; --shape " + shape.text +
               " has " + std::to_string(shape.q_length) + " and " + std::to_string(shape.kv_length);
    }
    if (settings.layout == Layout::packed && settings.dense_bias)
        return "dense_bias exists in the padded layout only";
    // The largest distance is the mask's own.
    if (settings.relative_buckets > 0)
        return fault_of_relative_buckets(settings.relative_buckets, !settings.causal, 128);
    return "";
}

}  // namespace switchyard::bench
