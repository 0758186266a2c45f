// What `Replace` and `Split` look for: a text as it is, or a regular expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/expression.h"
#include "core/workbench/data/tokenizers/pipeline/split_behavior.h"

namespace switchyard::data {

class MatchPattern {
public:
    static MatchPattern literal(std::string text);
    // Throws InputError.
    static MatchPattern expression(const std::string& text);

    // Matches and what lies between them, in order; `text` is valid UTF-8. An empty match directly behind
    // another one does not count.
    void find_all(std::string_view text, std::vector<Stretch>& stretches) const;

private:
    std::string literal_;
    std::shared_ptr<const Expression> expression_;
};

}  // namespace switchyard::data
