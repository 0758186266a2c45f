#include "core/workbench/model/token_share.h"

#include <ATen/ops/empty.h>

#include <switchyard/reference/dropout_mask.h>
#include "core/kernel/runtime/own_gradient.h"

namespace switchyard::model {
namespace {

// How many values each rank has.
std::vector<std::int64_t> times(std::vector<std::int64_t> rows, std::int64_t width) {
    for (auto& count : rows) count *= width;
    return rows;
}

}  // namespace

TokenShare::TokenShare(TensorRanks* ranks, const config::LayerPart& part, at::IntArrayRef sizes)
    : ranks_(ranks), sizes_(sizes.vec()) {
    std::int64_t tokens = 1;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) tokens *= sizes[i];
    const auto first = [&](std::int64_t rank) { return tokens * rank / part.parts; };
    for (std::int64_t rank = 0; rank < part.parts; ++rank) rows_.push_back(first(rank + 1) - first(rank));
    begin_ = first(part.index);
    count_ = rows_[static_cast<std::size_t>(part.index)];
}

at::Tensor TokenShare::narrowed(const at::Tensor& hidden) const {
    return hidden.reshape({-1, width()}).narrow(0, begin_, count_).clone(at::MemoryFormat::Contiguous);
}

at::Tensor TokenShare::gather(const at::Tensor& own) const {
    const auto whole = at::empty(sizes_, own.options());
    ranks_->gather_pieces(own.contiguous().view({-1}), whole.view({-1}), times(rows_, width()));
    return whole;
}

at::Tensor TokenShare::sum(const at::Tensor& hidden) const {
    const auto used_up = hidden.clone(at::MemoryFormat::Contiguous);  // others may hold what came
    const auto own = at::empty({count_, width()}, hidden.options());
    ranks_->sum_pieces(used_up.view({-1}), own.view({-1}), times(rows_, width()));
    return own;
}

at::Tensor TokenShare::made(const char* name, const at::Tensor& x, Make forward, Make backward) const {
    return runtime::with_gradient(
        name, x, [&](const at::Tensor& value) { return (this->*forward)(value); },
        [share = *this, backward](const at::Tensor& gradient) { return (share.*backward)(gradient); });
}

at::Tensor TokenShare::own(const at::Tensor& hidden) const {
    if (all()) return hidden;
    return made("Switchyard[own tokens]", hidden, &TokenShare::narrowed, &TokenShare::gather);
}

at::Tensor TokenShare::gathered(const at::Tensor& own) const {
    if (all()) return own;
    return made("Switchyard[gathered tokens]", own, &TokenShare::gather, &TokenShare::narrowed);
}

at::Tensor TokenShare::into_parts(const at::Tensor& own) const {
    if (all()) return model::into_parts(own, ranks_);
    return made("Switchyard[tokens into parts]", own, &TokenShare::gather, &TokenShare::sum);
}

at::Tensor TokenShare::out_of_parts(const at::Tensor& x) const {
    if (all()) return model::out_of_parts(x, ranks_);
    return made("Switchyard[tokens out of parts]", x, &TokenShare::sum, &TokenShare::gather);
}

at::Tensor TokenShare::parameter(const at::Tensor& vector) const {
    return all() ? vector : model::into_parts(vector, ranks_);
}

at::Tensor TokenShare::dropped(const at::Tensor& own, const Dropout& dropout, const Tokens& tokens) const {
    if (all() || !dropout.active()) return reference::hidden_dropout(own, dropout, tokens);
    const auto keep = reference::hidden_keep_rows(dropout, tokens, sizes_, {begin_, count_}, own.device());
    return reference::apply_dropout(own, keep, dropout);
}

}  // namespace switchyard::model
