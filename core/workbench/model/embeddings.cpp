#include "core/workbench/model/embeddings.h"

#include <stdexcept>
#include <string>

#include <ATen/ops/embedding.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/model/norm_slots.h"
#include "core/workbench/model/positions.h"
#include "core/workbench/model/sequences.h"
#include "core/workbench/model/tensor_ranks.h"

namespace switchyard::model {

Embeddings::Embeddings(Builder& builder) : model_(builder.config().model), word_cut_(builder.word_cut()) {
    builder.begin_part("embeddings");
    token_table_ = builder.embedding("embeddings.word", model_.vocab_size, word_cut_);
    if (model_.positions == config::Positions::learned)
        positions_ = builder.embedding("embeddings.position", model_.max_positions);
    if (model_.positions == config::Positions::sinusoidal && builder.stage().embeds()) {
        positions_ = builder.constant([&] {
            return sinusoidal_table(model_.max_positions, model_.hidden_size).to(token_table_.scalar_type());
        });
    }
    if (model_.type == config::ModelType::bert) {
        if (model_.segments > 0) segments_ = builder.embedding("embeddings.segment", model_.segments);
        if (model_.norm_position == config::NormPosition::post) {
            norm_ = builder.norm("embeddings.norm");
            const std::string at(name(config::Stack::encoder));
            normalize_ =
                plain_norm(builder, {"normalization.embedding", at, model_, builder.config().normalization});
        }
    }
    builder.add_costs(builder.tokens(), 2 * model_.hidden_size);
}

// Each rank gives those of its words, and zeros for the others.
at::Tensor Embeddings::words(const ForwardContext& context, const at::Tensor& ids) const {
    if (word_cut_.whole()) return at::embedding(token_table_, ids);
    const auto own = token_table_.size(0);
    const auto place = ids.sub(word_cut_.part.index * own);
    const auto foreign = place.lt(0).logical_or_(place.ge(own));
    const auto x = at::embedding(token_table_, place.masked_fill(foreign, 0));
    return out_of_parts(x.masked_fill(foreign.unsqueeze(-1), 0.0), context.ranks);
}

at::Tensor Embeddings::operator()(const ForwardContext& context, const TokenBatch& batch,
                                  config::Stack stack) const {
    const auto& tokens = batch.tokens;
    const auto longest = context.cached != nullptr         ? context.cached->longest
                         : tokens.layout == Layout::packed ? tokens.max_seqlen
                                                           : batch.ids.size(1);
    if (longest > model_.max_positions) {
        throw std::invalid_argument(
            "a sequence of " + std::to_string(longest) + " tokens is longer than the model's " +
            std::to_string(model_.max_positions) + " positions: set batch.max_length to cut it");
    }
    const runtime::PlaceScope outer([] { return "embeddings"; });
    auto x = words(context, batch.ids);
    if (positions_.defined())
        x = x.add(at::embedding(positions_,
                                token_positions(context, tokens, batch.ids.size(-1), batch.ids.device())));
    // Without token_type_ids, or where there is only one segment, every token is of the first one.
    if (segments_.defined()) {
        const bool one = model_.segments == 1 || !batch.token_type_ids.defined();
        x = x.add(one ? segments_.select(0, 0) : at::embedding(segments_, batch.token_type_ids));
    }
    if (norm_.weight.defined()) {
        const runtime::PlaceScope place([&] { return norm_.name; });
        NormalizationParams params;
        params.norm = model_.norm;
        params.eps = model_.norm_eps;
        x = x.to(to_scalar_type(normalize_.dtype(context.phase)));
        x = normalize_[context.phase]({x, {}, {}, norm_.weight, norm_.beta}, params).y;
    }
    return reference::hidden_dropout(x, context.dropout(model_.dropout, DropoutSite::embeddings, stack),
                                     tokens);
}

}  // namespace switchyard::model
