#include "core/kernel/resolver/nearest.h"

#include <algorithm>
#include <bit>

#include "core/kernel/base/joined.h"
#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

// One change of one field.
struct Change {
    std::string_view field;
    FieldValue value;
    std::string words;
};

constexpr int most_questions = 3000;  // supports() is pure and cheap; this is some milliseconds

template <class Enum>
std::vector<FieldValue> others(Enum current, std::initializer_list<Enum> all) {
    std::vector<FieldValue> list;
    for (const Enum value : all) {
        if (value != current) list.emplace_back(value);
    }
    return list;
}

template <class Enum>
std::vector<FieldValue> others(Enum current) {
    std::vector<FieldValue> list;
    for (std::size_t i = 0; i < names<Enum>.size(); ++i) {
        const auto other = static_cast<Enum>(i);
        if (other != current && !is_custom(other)) list.emplace_back(other);
    }
    return list;
}

// Sizes of kernels are multiples of a vector or a tile: the nearest such sizes, the larger one first.
std::vector<FieldValue> near_sizes(std::int64_t size) {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t multiple : {8, 16, 32, 64, 128, 256}) {
        const auto below = size / multiple * multiple;
        sizes.push_back(below + multiple);
        if (below > 0) sizes.push_back(below);
    }
    for (const std::int64_t limit : {512, 256, 128, 64, 32, 16}) {
        if (limit < size) sizes.push_back(limit);
    }
    std::erase(sizes, size);
    std::stable_sort(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) {
        const auto far_a = std::abs(a - size), far_b = std::abs(b - size);
        return far_a != far_b ? far_a < far_b : a > b;
    });
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return {sizes.begin(), sizes.end()};
}

std::vector<FieldValue> as_ranges(const std::vector<FieldValue>& sizes) {
    std::vector<FieldValue> ranges;
    for (const auto& size : sizes) ranges.emplace_back(Range(std::get<std::int64_t>(size)));
    return ranges;
}

// Shorter, from 1, of one length only, a multiple of a tile.
std::vector<FieldValue> other_lengths(Range range) {
    std::vector<FieldValue> list;
    if (range.min < 1 && range.max >= 1) list.emplace_back(Range(1, range.max));
    if (!range.single()) list.emplace_back(Range(range.max));
    const auto limit = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(range.max - 1, 1))));
    for (auto shorter = limit; shorter > 1 && shorter >= range.min; shorter /= 2)
        list.emplace_back(Range(range.min, shorter));
    for (const auto& single : as_ranges(near_sizes(range.max))) list.push_back(single);
    if (range != Range(1)) list.emplace_back(Range(1));
    return list;
}

// Every smaller set, fewest removed first.
std::vector<FieldValue> fewer_masks(MaskSet masks) {
    std::vector<MaskSet> smaller;
    for (std::uint32_t gone = masks.bits; gone != 0; gone = (gone - 1) & masks.bits) {
        smaller.emplace_back().bits = masks.bits & ~gone;
    }
    std::stable_sort(smaller.begin(), smaller.end(),
                     [](MaskSet a, MaskSet b) { return std::popcount(a.bits) > std::popcount(b.bits); });
    return {smaller.begin(), smaller.end()};
}

std::vector<FieldValue> alternatives(const Field& field, const std::vector<Field>& all) {
    const auto& value = field.value;
    if (const auto* flag = std::get_if<bool>(&value)) {
        return *flag == (field.name == "allow_reduced") ? std::vector<FieldValue>{}
                                                        : std::vector<FieldValue>{!*flag};
    }
    if (const auto* real = std::get_if<double>(&value)) {
        return *real == 0.0 ? std::vector<FieldValue>{} : std::vector<FieldValue>{0.0};
    }
    if (const auto* dtype = std::get_if<DType>(&value)) {
        return others(*dtype, {DType::float32, DType::bfloat16, DType::float16, DType::float64});
    }
    if (const auto* device = std::get_if<Device>(&value)) return others(*device);
    if (const auto* layout = std::get_if<Layout>(&value)) return others(*layout);
    if (const auto* phase = std::get_if<Phase>(&value)) return others(*phase);
    if (const auto* norm = std::get_if<NormKind>(&value)) return others(*norm);
    if (const auto* activation = std::get_if<ActivationKind>(&value)) return others(*activation);
    if (const auto* algorithm = std::get_if<OptimizerKind>(&value)) return others(*algorithm);
    if (const auto* loss = std::get_if<LossKind>(&value)) return others(*loss);
    if (const auto* masks = std::get_if<MaskSet>(&value)) return fewer_masks(*masks);
    const auto* range = std::get_if<Range>(&value);
    if (range == nullptr || range->max == 0 || field.name == "heads") return {};
    if (field.name == "kv_heads") {
        const auto heads =
            std::find_if(all.begin(), all.end(), [](const Field& f) { return f.name == "heads"; });
        return heads->value == value ? std::vector<FieldValue>{} : std::vector<FieldValue>{heads->value};
    }
    const bool size = field.name == "head_dim" || field.name == "v_head_dim" || field.name == "width";
    return size && range->single() ? as_ranges(near_sizes(range->max)) : other_lengths(*range);
}

std::string words_for(const Field& field, const FieldValue& value, const std::string& custom) {
    const std::string name(field.name);
    if (names_custom(field.value))
        return name + ' ' + to_text(value) + " instead of " + std::string(custom_prefix) + custom;
    if (const auto* flag = std::get_if<bool>(&value)) return name + (*flag ? " on" : " off");
    if (const auto* rest = std::get_if<MaskSet>(&value)) {
        MaskSet gone;
        gone.bits = std::get<MaskSet>(field.value).bits & ~rest->bits;
        return "without mask " + switchyard::to_text(gone, "+");
    }
    return name + " " + to_text(value) + " instead of " + to_text(field.value);
}

// Some fields only make sense together.
void apply(Kind kind, const Request& original, Request& request, const Change& change) {
    if (kind != Kind::attention) return set_field(kind, request, change.field, change.value);
    auto& r = KindTraits<Kind::attention>::request(request);
    const auto& was = KindTraits<Kind::attention>::request(original);
    if (change.field == "masks") {
        r.masks.bits &= std::get<MaskSet>(change.value).bits | ~was.masks.bits;
        return;
    }
    set_field(kind, request, change.field, change.value);
    if (change.field == "head_dim" && was.v_head_dim == was.head_dim) r.v_head_dim = r.head_dim;
    if (change.field == "q_length" && was.kv_length == was.q_length) r.kv_length = r.q_length;
    if (change.field == "kv_length" && was.kv_length == was.q_length) r.q_length = r.kv_length;
    if (change.field == "needs_grad") r.bias_gradient = false;
    if (change.field == "layout") {
        const bool packed = r.layout == Layout::packed;
        r.masks.erase(packed ? MaskKind::key_lengths : MaskKind::documents);
        r.masks.insert(packed ? MaskKind::documents : MaskKind::key_lengths);
    }
}

class Search {
public:
    Search(Kind kind, const std::shared_ptr<const Request>& request, const Ask& ask)
        : kind_(kind), request_(request), ask_(ask) {
        const auto list = fields(kind, *request);
        for (const auto& field : list) {
            for (const auto& value : alternatives(field, list))
                all_.push_back({field.name, value, words_for(field, value, custom_name(kind, *request))});
        }
        std::stable_partition(all_.begin(), all_.end(),
                              [](const Change& change) { return change.field != "phase"; });
    }

    std::optional<std::string> run(const std::vector<Reason>& reasons) {
        std::vector<Change> failing;
        for (const auto& change : all_) {
            if (named_by(reasons, change.field)) failing.push_back(change);
        }
        if (auto found = up_to_two(failing)) return found;
        if (auto found = one_for_each(reasons)) return found;
        return up_to_two(all_);
    }

private:
    // "masks" is meant by "masks", "mask", "masks.alibi".
    static bool named(const std::string& reason, std::string_view field) {
        return reason.starts_with(field) ||
               (field.ends_with('s') && reason.starts_with(field.substr(0, field.size() - 1)));
    }
    static bool named_by(const std::vector<Reason>& reasons, std::string_view field) {
        return std::any_of(reasons.begin(), reasons.end(),
                           [&](const Reason& r) { return named(r.field, field); });
    }

    std::vector<Reason> try_changes(const std::vector<const Change*>& changes) {
        const auto changed = clone(kind_, *request_);
        for (const auto* change : changes) apply(kind_, *request_, *changed, *change);
        ++questions_;
        return ask_(changed);
    }

    static std::string words(const std::vector<const Change*>& changes) {
        std::string text;
        for (const auto* change : changes) base::add_item(text, change->words, "; ");
        return text;
    }

    std::optional<std::string> up_to_two(const std::vector<Change>& changes) {
        for (const auto& change : changes) {
            if (questions_ < most_questions && try_changes({&change}).empty()) return words({&change});
        }
        for (std::size_t i = 0; i < changes.size(); ++i) {
            for (std::size_t j = i + 1; j < changes.size() && questions_ < most_questions; ++j) {
                if (changes[i].field == changes[j].field) continue;
                if (try_changes({&changes[i], &changes[j]}).empty()) return words({&changes[i], &changes[j]});
            }
        }
        return std::nullopt;
    }

    // Round by round, for each reason the first change that removes it and brings no new one.
    std::optional<std::string> one_for_each(std::vector<Reason> reasons) {
        std::vector<const Change*> taken;
        while (!reasons.empty() && taken.size() < 8) {
            const Change* better = nullptr;
            for (const auto& change : all_) {
                if (!named(reasons.front().field, change.field)) continue;
                taken.push_back(&change);
                auto left = try_changes(taken);
                taken.pop_back();
                if (left.size() >= reasons.size()) continue;
                better = &change;
                reasons = std::move(left);
                break;
            }
            if (better == nullptr) return std::nullopt;
            taken.push_back(better);
        }
        return reasons.empty() ? std::optional(words(taken)) : std::nullopt;
    }

    Kind kind_;
    std::shared_ptr<const Request> request_;
    const Ask& ask_;
    std::vector<Change> all_;
    int questions_ = 0;
};

}  // namespace

std::optional<std::string> nearest_request(Kind kind, const std::shared_ptr<const Request>& request,
                                           const std::vector<Reason>& reasons, const Ask& ask) {
    return Search(kind, request, ask).run(reasons);
}

}  // namespace switchyard::resolver
