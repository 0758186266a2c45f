// A reason in words, the same wherever one is shown: plans, listings, reports of the conformance suite.
#pragma once

#include <string>

#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// "head_dim: expected a multiple of 8, got 20 (hint)"; what a reason does not have is left out.
inline std::string to_text(const Reason& reason) {
    std::string text = reason.field.empty() ? std::string(name(reason.code)) : reason.field;
    if (!reason.expected.empty()) text += ": expected " + reason.expected;
    if (!reason.got.empty()) text += (reason.expected.empty() ? ": " : ", got ") + reason.got;
    return text + (reason.hint.empty() ? "" : " (" + reason.hint + ")");
}

}  // namespace switchyard
