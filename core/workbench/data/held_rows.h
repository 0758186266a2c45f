// Rows in their order, held until there is enough text in them to be tokenized on all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/rows.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

using TokenLists = std::vector<std::vector<std::int64_t>>;

class HeldRows {
public:
    // Takes a row when its turn has come, with the tokens of its texts.
    using Take = std::function<void(Row& row, TokenLists tokens)>;

    // `tokenizer`: nullptr where no row has texts.
    explicit HeldRows(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

    // `columns`: those of the row's values. `texts`: parts of its values. They and `columns` stay as they are
    // until `take` was called: here, where nothing is to be waited for, or by flush().
    void add(Row& row, const std::vector<std::string>& columns, std::vector<std::string_view> texts,
             Take take);
    // All that are held.
    void flush();

private:
    struct Held {
        Row row;
        std::string text;  // what row.source looks at
        std::vector<std::size_t> fields;
        const std::vector<std::string>* columns = nullptr;
        std::vector<std::string_view> texts;
        Take take;
    };

    const Tokenizer* tokenizer_;
    std::vector<Held> held_;
    std::size_t bytes_ = 0;
};

}  // namespace switchyard::data
