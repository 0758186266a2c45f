// The member "pattern" of Replace and Split: {"String": text} or {"Regex": expression}.
#pragma once

#include "core/workbench/data/tokenizers/pipeline/json_field.h"
#include "core/workbench/data/tokenizers/pipeline/match_pattern.h"

namespace switchyard::data {

inline MatchPattern read_pattern(const JsonField& owner) {
    const auto field = owner.at("pattern");
    field.only({"String", "Regex"});
    if (const auto literal = field.find("String")) return MatchPattern::literal(literal->text());
    const auto expression = field.at("Regex");
    return expression.made([&] { return MatchPattern::expression(expression.text()); });
}

}  // namespace switchyard::data
