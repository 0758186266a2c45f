#include "core/workbench/model/weights/unused_tensors.h"

#include <algorithm>
#include <array>

#include "core/kernel/base/joined.h"

namespace switchyard::model {
namespace {

template <std::size_t count>
bool begins_with(std::string_view name, const std::array<std::string_view, count>& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](auto part) { return name.starts_with(part); });
}

template <std::size_t count>
bool ends_with(std::string_view name, const std::array<std::string_view, count>& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](auto part) { return name.ends_with(part); });
}

bool goes_without_saying(std::string_view name) {
    constexpr std::array<std::string_view, 16> heads{"cls.",
                                                     "pooler.",
                                                     "bert.pooler.",
                                                     "roberta.pooler.",
                                                     "classifier.",
                                                     "pre_classifier.",
                                                     "qa_outputs.",
                                                     "score.",
                                                     "vocab_transform.",
                                                     "vocab_layer_norm.",
                                                     "vocab_projector.",
                                                     "lm_head.",
                                                     "masked_lm.",
                                                     "causal_lm.",
                                                     "seq2seq.",
                                                     "next_sentence."};
    // Of GGUF files "output.weight" is the output projection. Masks of GPT-2 and numbers of positions were
    // kept as tensors once, and T5's second attention has no positions.
    constexpr std::array<std::string_view, 7> ends{"attn.bias",
                                                   "attn.masked_bias",
                                                   "position_ids",
                                                   "rotary_emb.inv_freq",
                                                   "encoder.embed_tokens.weight",
                                                   "decoder.embed_tokens.weight",
                                                   "EncDecAttention.relative_attention_bias.weight"};
    return name == "output.weight" || begins_with(name, heads) || ends_with(name, ends);
}

}  // namespace

const TheirTensor* weight_of_bias(Family family, std::string_view theirs,
                                  const std::vector<TheirTensor>& known) {
    constexpr std::array<std::string_view, 2> copies{"cls.predictions.decoder.bias", "lm_head.decoder.bias"};
    constexpr std::string_view bias = ".bias";
    if (!theirs.ends_with(bias) || ends_with(theirs, copies)) return nullptr;
    const auto weight =
        modern_name(family, std::string(theirs.substr(0, theirs.size() - bias.size())) + ".weight", known);
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const TheirTensor& tensor) { return tensor.name == weight; });
    return found == known.end() ? nullptr : &*found;
}

std::string unused_line(const std::string& file, const std::vector<std::string>& unused) {
    constexpr std::size_t told = 5;
    std::string names;
    std::size_t count = 0;
    for (const auto& name : unused) {
        if (goes_without_saying(name)) continue;
        if (++count <= told) base::add_item(names, name);
    }
    if (count == 0) return "";
    if (count > told) names += " and " + std::to_string(count - told) + " more";
    return "the model has no place for " + names + " of " + file;
}

}  // namespace switchyard::model
