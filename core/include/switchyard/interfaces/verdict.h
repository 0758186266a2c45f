// The answer to a request: served, or all the reasons why not.
//
// `supports` never stops at the first obstacle: a user who has to change three things is told three things. A
// reason names the field of the request, what the component takes, and what came; the text is built only when
// a condition fails, so a passing verdict allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard {

// The class of an obstacle, stable for programs that read JSON output. Appended only.
enum class Code : std::uint16_t {
    Device,
    DType,
    Layout,
    Phase,
    Mask,
    Shape,
    HeadDim,
    Heads,
    Sequence,
    Width,
    Dropout,
    Gradient,
    Determinism,
    Accuracy,
    Algorithm,
    Option,
    Variant,
    CpuFeature,
    Library,
    Memory,
    Fusion,
    Composition,
    Internal
};

// The code as it stands in JSON; inline, so that a plugin needs no library of ours for it.
inline std::string_view name(Code code) {
    constexpr std::string_view texts[] = {
        "device",   "dtype",       "layout",  "phase",    "mask",        "shape",       "head_dim",  "heads",
        "sequence", "width",       "dropout", "gradient", "determinism", "accuracy",    "algorithm", "option",
        "variant",  "cpu_feature", "library", "memory",   "fusion",      "composition", "internal"};
    const auto index = static_cast<std::size_t>(code);
    return index < std::size(texts) ? texts[index] : std::string_view{"unknown"};
}

struct Reason {
    Code code;
    std::string field;     // the request's field, e.g. "head_dim"
    std::string expected;  // what would be served, e.g. "a multiple of 8"
    std::string got;       // what the request has, e.g. "20"
    std::string hint;      // what to do about it; may be empty
};

struct Verdict {
    std::vector<Reason> reasons;

    bool ok() const { return reasons.empty(); }

    template <class Value>
    void reject(Code code, std::string_view field, std::string_view expected, const Value& got,
                std::string_view hint = {}) {
        std::ostringstream text;
        text << got;
        reasons.push_back(
            {code, std::string(field), std::string(expected), std::move(text).str(), std::string(hint)});
    }
};

}  // namespace switchyard
