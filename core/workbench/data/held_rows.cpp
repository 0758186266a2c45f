#include "core/workbench/data/held_rows.h"

#include <iterator>
#include <utility>

namespace switchyard::data {
namespace {

constexpr std::size_t most_bytes = 4 << 20;  // of texts, or of rows

}  // namespace

void HeldRows::add(Row& row, const std::vector<std::string>& columns, std::vector<std::string_view> texts,
                   Take take) {
    if (texts.empty() && held_.empty()) return take(row, {});
    Held held;
    held.text = row.source.text;
    held.fields.assign(row.source.fields.begin(), row.source.fields.end());
    held.columns = &columns;
    bytes_ += held.text.size();
    for (const auto& text : texts) bytes_ += text.size();
    held.texts = std::move(texts);
    held.take = std::move(take);
    held.row = std::move(row);  // its values stay where they are: `texts` looks at them
    held_.push_back(std::move(held));
    if (bytes_ >= most_bytes) flush();
}

void HeldRows::flush() {
    auto held = std::exchange(held_, {});
    bytes_ = 0;
    std::vector<std::string_view> texts;
    for (const auto& one : held) texts.insert(texts.end(), one.texts.begin(), one.texts.end());
    auto tokens = texts.empty() ? TokenLists() : tokenizer_->encode_batch(texts);
    auto next = tokens.begin();
    for (auto& one : held) {
        const auto end = next + static_cast<std::ptrdiff_t>(one.texts.size());
        one.row.source = {one.row.source.format, one.text, one.fields, *one.columns};
        one.take(one.row, {std::make_move_iterator(next), std::make_move_iterator(end)});
        next = end;
    }
}

}  // namespace switchyard::data
