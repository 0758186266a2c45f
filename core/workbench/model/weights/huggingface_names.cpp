#include "core/workbench/model/weights/huggingface_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/workbench/model/weights/translated_name.h"

namespace switchyard::model {
namespace {

// Halves: the gate's rows come first in our feed_forward.in.
enum class Form : std::uint8_t { same, transposed, first_half, second_half };

// Beginnings of names, '#' standing for a layer's number; what follows ("weight", "bias") is the same on both
// sides. Several lines with the same `theirs` are one tensor.
struct Line {
    std::string_view ours;
    std::string_view theirs;
    Form form = Form::same;
    int rows_before = 0;
};

constexpr std::array<Line, 1> bert_positions{
    {{"embeddings.position", "embeddings.position_embeddings.weight"}}};
constexpr std::array<Line, 1> roberta_positions{
    {{"embeddings.position", "embeddings.position_embeddings.weight", Form::same, 2}}};
// Inside of BERT and RoBERTa.
constexpr std::array<Line, 11> bert_body{
    {{"embeddings.word", "embeddings.word_embeddings.weight"},
     {"embeddings.segment", "embeddings.token_type_embeddings.weight"},
     {"embeddings.norm.", "embeddings.LayerNorm."},
     {"encoder.#.attention.q.", "encoder.layer.#.attention.self.query."},
     {"encoder.#.attention.k.", "encoder.layer.#.attention.self.key."},
     {"encoder.#.attention.v.", "encoder.layer.#.attention.self.value."},
     {"encoder.#.attention.out.", "encoder.layer.#.attention.output.dense."},
     {"encoder.#.attention.norm.", "encoder.layer.#.attention.output.LayerNorm."},
     {"encoder.#.feed_forward.in.", "encoder.layer.#.intermediate.dense."},
     {"encoder.#.feed_forward.out.", "encoder.layer.#.output.dense."},
     {"encoder.#.feed_forward.norm.", "encoder.layer.#.output.LayerNorm."}}};

constexpr std::array<Line, 7> bert_heads{{{"pooler.", "bert.pooler.dense."},
                                          {"masked_lm.dense.", "cls.predictions.transform.dense."},
                                          {"masked_lm.norm.", "cls.predictions.transform.LayerNorm."},
                                          {"masked_lm.bias", "cls.predictions.bias"},
                                          {"lm_head.", "cls.predictions.decoder."},
                                          {"next_sentence.", "cls.seq_relationship."},
                                          {"classifier.", "classifier."}}};

constexpr std::array<Line, 4> roberta_words{{{"masked_lm.dense.", "lm_head.dense."},
                                             {"masked_lm.norm.", "lm_head.layer_norm."},
                                             {"masked_lm.bias", "lm_head.bias"},
                                             {"lm_head.", "lm_head.decoder."}}};
// Of whole texts; that of tokens is one layer.
constexpr std::array<Line, 2> roberta_classifier{
    {{"pooler.", "classifier.dense."}, {"classifier.", "classifier.out_proj."}}};

constexpr std::array<Line, 11> distilbert_body{
    {{"embeddings.word", "embeddings.word_embeddings.weight"},
     {"embeddings.position", "embeddings.position_embeddings.weight"},
     {"embeddings.norm.", "embeddings.LayerNorm."},
     {"encoder.#.attention.q.", "transformer.layer.#.attention.q_lin."},
     {"encoder.#.attention.k.", "transformer.layer.#.attention.k_lin."},
     {"encoder.#.attention.v.", "transformer.layer.#.attention.v_lin."},
     {"encoder.#.attention.out.", "transformer.layer.#.attention.out_lin."},
     {"encoder.#.attention.norm.", "transformer.layer.#.sa_layer_norm."},
     {"encoder.#.feed_forward.in.", "transformer.layer.#.ffn.lin1."},
     {"encoder.#.feed_forward.out.", "transformer.layer.#.ffn.lin2."},
     {"encoder.#.feed_forward.norm.", "transformer.layer.#.output_layer_norm."}}};
constexpr std::array<Line, 6> distilbert_heads{{{"pooler.", "pre_classifier."},
                                                {"classifier.", "classifier."},
                                                {"masked_lm.dense.", "vocab_transform."},
                                                {"masked_lm.norm.", "vocab_layer_norm."},
                                                {"masked_lm.bias", "vocab_projector.bias"},
                                                {"lm_head.", "vocab_projector."}}};

constexpr std::array<Line, 12> gpt2{
    {{"embeddings.word", "transformer.wte.weight"},
     {"embeddings.position", "transformer.wpe.weight"},
     {"decoder.#.attention.q.", "transformer.h.#.attn.c_attn.", Form::transposed},
     {"decoder.#.attention.k.", "transformer.h.#.attn.c_attn.", Form::transposed},
     {"decoder.#.attention.v.", "transformer.h.#.attn.c_attn.", Form::transposed},
     {"decoder.#.attention.out.", "transformer.h.#.attn.c_proj.", Form::transposed},
     {"decoder.#.attention.norm.", "transformer.h.#.ln_1."},
     {"decoder.#.feed_forward.in.", "transformer.h.#.mlp.c_fc.", Form::transposed},
     {"decoder.#.feed_forward.out.", "transformer.h.#.mlp.c_proj.", Form::transposed},
     {"decoder.#.feed_forward.norm.", "transformer.h.#.ln_2."},
     {"decoder.norm.", "transformer.ln_f."},
     {"lm_head.", "lm_head."}}};

constexpr std::array<Line, 12> llama{
    {{"embeddings.word", "model.embed_tokens.weight"},
     {"decoder.#.attention.q.", "model.layers.#.self_attn.q_proj."},
     {"decoder.#.attention.k.", "model.layers.#.self_attn.k_proj."},
     {"decoder.#.attention.v.", "model.layers.#.self_attn.v_proj."},
     {"decoder.#.attention.out.", "model.layers.#.self_attn.o_proj."},
     {"decoder.#.attention.norm.", "model.layers.#.input_layernorm."},
     {"decoder.#.feed_forward.in.", "model.layers.#.mlp.gate_proj.", Form::first_half},
     {"decoder.#.feed_forward.in.", "model.layers.#.mlp.up_proj.", Form::second_half},
     {"decoder.#.feed_forward.out.", "model.layers.#.mlp.down_proj."},
     {"decoder.#.feed_forward.norm.", "model.layers.#.post_attention_layernorm."},
     {"decoder.norm.", "model.norm."},
     {"lm_head.", "lm_head."}}};

constexpr std::array<Line, 25> t5{
    {{"embeddings.word", "shared.weight"},
     {"encoder.relative_bias", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
     {"decoder.relative_bias", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
     {"encoder.#.attention.norm.", "encoder.block.#.layer.0.layer_norm."},
     {"encoder.#.attention.q.", "encoder.block.#.layer.0.SelfAttention.q."},
     {"encoder.#.attention.k.", "encoder.block.#.layer.0.SelfAttention.k."},
     {"encoder.#.attention.v.", "encoder.block.#.layer.0.SelfAttention.v."},
     {"encoder.#.attention.out.", "encoder.block.#.layer.0.SelfAttention.o."},
     {"encoder.#.feed_forward.norm.", "encoder.block.#.layer.1.layer_norm."},
     {"encoder.#.feed_forward.out.", "encoder.block.#.layer.1.DenseReluDense.wo."},
     {"encoder.norm.", "encoder.final_layer_norm."},
     {"decoder.#.attention.norm.", "decoder.block.#.layer.0.layer_norm."},
     {"decoder.#.attention.q.", "decoder.block.#.layer.0.SelfAttention.q."},
     {"decoder.#.attention.k.", "decoder.block.#.layer.0.SelfAttention.k."},
     {"decoder.#.attention.v.", "decoder.block.#.layer.0.SelfAttention.v."},
     {"decoder.#.attention.out.", "decoder.block.#.layer.0.SelfAttention.o."},
     {"decoder.#.cross.norm.", "decoder.block.#.layer.1.layer_norm."},
     {"decoder.#.cross.q.", "decoder.block.#.layer.1.EncDecAttention.q."},
     {"decoder.#.cross.k.", "decoder.block.#.layer.1.EncDecAttention.k."},
     {"decoder.#.cross.v.", "decoder.block.#.layer.1.EncDecAttention.v."},
     {"decoder.#.cross.out.", "decoder.block.#.layer.1.EncDecAttention.o."},
     {"decoder.#.feed_forward.norm.", "decoder.block.#.layer.2.layer_norm."},
     {"decoder.#.feed_forward.out.", "decoder.block.#.layer.2.DenseReluDense.wo."},
     {"decoder.norm.", "decoder.final_layer_norm."},
     {"lm_head.", "lm_head."}}};
constexpr std::array<Line, 2> t5_plain{
    {{"encoder.#.feed_forward.in.", "encoder.block.#.layer.1.DenseReluDense.wi."},
     {"decoder.#.feed_forward.in.", "decoder.block.#.layer.2.DenseReluDense.wi."}}};
constexpr std::array<Line, 4> t5_gated{
    {{"encoder.#.feed_forward.in.", "encoder.block.#.layer.1.DenseReluDense.wi_0.", Form::first_half},
     {"encoder.#.feed_forward.in.", "encoder.block.#.layer.1.DenseReluDense.wi_1.", Form::second_half},
     {"decoder.#.feed_forward.in.", "decoder.block.#.layer.2.DenseReluDense.wi_0.", Form::first_half},
     {"decoder.#.feed_forward.in.", "decoder.block.#.layer.2.DenseReluDense.wi_1.", Form::second_half}}};

// Of the model inside of one with a head.
std::string_view prefix_of(Family family) {
    switch (family) {
        case Family::bert:
            return "bert.";
        case Family::roberta:
            return "roberta.";
        case Family::distilbert:
            return "distilbert.";
        case Family::gpt2:
            return "transformer.";
        case Family::llama:
            return "model.";
        default:
            return "";
    }
}

struct NameTable {
    std::span<const Line> lines;
    std::string_view prefix{};  // of `theirs`, where it is not in the lines
};

std::vector<NameTable> names_of(Family family, bool pooled) {
    const auto prefix = prefix_of(family);
    switch (family) {
        case Family::bert:
            return {{bert_positions, prefix}, {bert_body, prefix}, {bert_heads}};
        case Family::roberta:
            return {{roberta_positions, prefix},
                    {bert_body, prefix},
                    {roberta_words},
                    {pooled ? std::span<const Line>(roberta_classifier) : std::span<const Line>()}};
        case Family::distilbert:
            return {{distilbert_body, prefix}, {distilbert_heads}};
        case Family::gpt2:
            return {{gpt2}};
        case Family::llama:
            return {{llama}};
        case Family::t5:
            return {{t5}, {t5_plain}};
        case Family::t5_gated:
            return {{t5}, {t5_gated}};
        default:
            return {};
    }
}

class Collection {
public:
    void add(std::string theirs, const Line& line, const std::string& ours) {
        const bool halved = line.form == Form::first_half || line.form == Form::second_half;
        TheirTensor::Part part{ours, line.form == Form::second_half ? 1 : 0, halved ? 2 : 1};
        const auto same = [&](const TheirTensor& tensor) { return tensor.name == theirs; };
        const auto found = std::find_if(tensors_.begin(), tensors_.end(), same);
        if (found != tensors_.end()) return found->parts.push_back(std::move(part));
        tensors_.push_back(
            {std::move(theirs), line.form == Form::transposed, line.rows_before, {std::move(part)}});
    }
    std::vector<TheirTensor> take() { return std::move(tensors_); }

private:
    std::vector<TheirTensor> tensors_;
};

bool is_one_of(const std::vector<TheirTensor>& known, std::string_view name) {
    return std::any_of(known.begin(), known.end(), [&](const auto& tensor) { return tensor.name == name; });
}

}  // namespace

std::vector<TheirTensor> their_tensors(Family family, const std::vector<std::string>& ours) {
    Collection all;
    const bool pooled = std::find(ours.begin(), ours.end(), "pooler.weight") != ours.end();
    const auto tables = names_of(family, pooled);
    for (const auto& name : ours) {
        bool found = false;
        for (const auto& table : tables) {
            for (const auto& line : table.lines) {
                const auto theirs = translated_name(name, line.ours, line.theirs);
                if (!theirs) continue;
                all.add(std::string(table.prefix) + *theirs, line, name);
                found = true;
            }
        }
        if (!found) all.add(name, {}, name);
    }
    return all.take();
}

std::string modern_name(Family family, std::string_view theirs, const std::vector<TheirTensor>& known) {
    std::string name(theirs);
    for (const auto& [old_end, new_end] :
         {std::pair<std::string_view, std::string_view>{".gamma", ".weight"}, {".beta", ".bias"}}) {
        if (family == Family::bert && name.ends_with(old_end))
            name.replace(name.size() - old_end.size(), old_end.size(), new_end);
    }
    if (is_one_of(known, name)) return name;
    const auto whole = std::string(prefix_of(family)) + name;
    return is_one_of(known, whole) ? whole : std::string(theirs);
}

}  // namespace switchyard::model
