// Regular expressions in Oniguruma's syntax (doc/RE of kkos/oniguruma, its default syntax), in which
// tokenizer.json has them, as PCRE2 takes them for the same matches.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::data {

struct TranslatedExpression {
    std::string pattern;
    std::string error;  // what of the expression is not taken; empty: all is
};

TranslatedExpression translate_expression(std::string_view expression);

}  // namespace switchyard::data
