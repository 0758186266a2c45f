#include "core/kernel/resolver/request_fields.h"

#include <cstdio>
#include <type_traits>

namespace switchyard::resolver {
namespace {

// Calls f(name, member) for each member, those of all kinds first. R is Request or const Request.
template <class R, class F>
void each_field(Kind kind, R& request, F&& f) {
    Request::each_common_field(request, f);
    visit(kind, [&]<class Traits>(Traits) { Traits::Request::each_field(Traits::request(request), f); });
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

}  // namespace

bool is_off(const FieldValue& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
    if (const auto* real = std::get_if<double>(&value)) return *real == 0.0;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole == 0;
    if (const auto* masks = std::get_if<MaskSet>(&value)) return masks->empty();
    if (const auto* range = std::get_if<Range>(&value)) return range->max == 0;
    if (const auto* input = std::get_if<InputQuantization>(&value)) return *input == InputQuantization::none;
    if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
    return false;
}

std::vector<Field> fields(Kind kind, const Request& request) {
    std::vector<Field> list;
    each_field(kind, request, [&](std::string_view name, const auto& value) {
        list.push_back({name, value});
    });
    return list;
}

void set_field(Kind kind, Request& request, std::string_view name, const FieldValue& value) {
    each_field(kind, request, [&](std::string_view at, auto& member) {
        using Member = std::remove_reference_t<decltype(member)>;
        if (at != name) return;
        if (const auto* given = std::get_if<Member>(&value)) member = *given;
    });
}

std::shared_ptr<Request> clone(Kind kind, const Request& request) {
    return visit(kind, [&]<class Traits>(Traits) -> std::shared_ptr<Request> {
        return std::make_shared<typename Traits::Request>(Traits::request(request));
    });
}

bool equal(Kind kind, const Request& a, const Request& b) { return fields(kind, a) == fields(kind, b); }

bool names_custom(const FieldValue& value) {
    return std::visit(
        [](const auto& v) {
            if constexpr (std::is_enum_v<std::decay_t<decltype(v)>>)
                return is_custom(v);
            else
                return false;
        },
        value);
}

std::string custom_name(Kind kind, const Request& request) {
    return visit(kind, [&](auto traits) -> std::string {
        const auto& asked = traits.request(request);
        if constexpr (requires { asked.custom; })
            return is_custom(formula_of(asked)) ? asked.custom : "";
        else
            return "";
    });
}

std::string to_text(const FieldValue& value) {
    return std::visit(
        [](const auto& v) -> std::string {
            using V = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<V, bool>)
                return v ? "yes" : "no";
            else if constexpr (std::is_same_v<V, std::int64_t>)
                return std::to_string(v);
            else if constexpr (std::is_same_v<V, double>)
                return number(v);
            else if constexpr (std::is_same_v<V, std::string>)
                return v;
            else if constexpr (std::is_same_v<V, MaskSet>)
                return switchyard::to_text(v, "+");
            else if constexpr (std::is_same_v<V, Range>)
                return std::to_string(v.min) + (v.single() ? "" : ".." + std::to_string(v.max));
            else
                return std::string(name(v));
        },
        value);
}

std::string in_words(Kind kind, const Request& request) {
    std::string text = std::string(name(request.dtype)) + " on " + std::string(name(request.device)) + ", " +
                       std::string(name(request.layout)) + ", " + std::string(name(request.phase));
    for (const auto& field : fields(kind, request)) {
        if (field.name == "dtype" || field.name == "device" || field.name == "layout" ||
            field.name == "phase")
            continue;
        if (is_off(field.value) || field.name == "custom") continue;
        text.append(", ").append(field.name);
        if (const auto custom = custom_name(kind, request); !custom.empty() && names_custom(field.value)) {
            text.append(1, ' ').append(custom_prefix).append(custom);
            continue;
        }
        if (!std::holds_alternative<bool>(field.value)) text.append(1, ' ').append(to_text(field.value));
    }
    return text;
}

}  // namespace switchyard::resolver
