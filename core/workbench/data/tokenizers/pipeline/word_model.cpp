#include "core/workbench/data/tokenizers/pipeline/word_model.h"

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"

namespace switchyard::data {

void WordModel::take(const NumberedTokens& tokens) {
    constexpr auto most = static_cast<std::int64_t>(base::limits::vocabulary_entries);
    if (static_cast<std::int64_t>(tokens.size()) > most)
        throw base::InputError("has more than " + std::to_string(most) + " tokens");
    table_.reserve(tokens.size());
    for (const auto& [token, id] : tokens) {
        const auto told = "the token '" + base::quoted(token) + "'";
        if (id < 0 || id >= most)
            throw base::InputError(told + " has the number " + std::to_string(id) + "; expected 0 to " +
                                   std::to_string(most - 1));
        if (!table_.add(token, id)) throw base::InputError(told + " stands there twice");
        if (!names_.add(id, token))
            throw base::InputError(told + " has the number of '" + base::quoted(*names_.find(id)) + "', " +
                                   std::to_string(id));
    }
}

}  // namespace switchyard::data
