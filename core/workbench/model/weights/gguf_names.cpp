#include "core/workbench/model/weights/gguf_names.h"

#include <array>
#include <span>

#include "core/workbench/model/weights/translated_name.h"

namespace switchyard::model {
namespace {

struct NamePair {
    std::string_view gguf, huggingface;
};

constexpr std::array<NamePair, 12> llama_pairs{
    {{"token_embd.", "model.embed_tokens."},
     {"output_norm.", "model.norm."},
     {"output.", "lm_head."},
     {"blk.#.attn_norm.", "model.layers.#.input_layernorm."},
     {"blk.#.attn_q.", "model.layers.#.self_attn.q_proj."},
     {"blk.#.attn_k.", "model.layers.#.self_attn.k_proj."},
     {"blk.#.attn_v.", "model.layers.#.self_attn.v_proj."},
     {"blk.#.attn_output.", "model.layers.#.self_attn.o_proj."},
     {"blk.#.ffn_norm.", "model.layers.#.post_attention_layernorm."},
     {"blk.#.ffn_gate.", "model.layers.#.mlp.gate_proj."},
     {"blk.#.ffn_up.", "model.layers.#.mlp.up_proj."},
     {"blk.#.ffn_down.", "model.layers.#.mlp.down_proj."}}};

constexpr std::array<NamePair, 10> gpt2_pairs{{{"token_embd.", "transformer.wte."},
                                               {"position_embd.", "transformer.wpe."},
                                               {"output_norm.", "transformer.ln_f."},
                                               {"output.", "lm_head."},
                                               {"blk.#.attn_norm.", "transformer.h.#.ln_1."},
                                               {"blk.#.attn_qkv.", "transformer.h.#.attn.c_attn."},
                                               {"blk.#.attn_output.", "transformer.h.#.attn.c_proj."},
                                               {"blk.#.ffn_norm.", "transformer.h.#.ln_2."},
                                               {"blk.#.ffn_up.", "transformer.h.#.mlp.c_fc."},
                                               {"blk.#.ffn_down.", "transformer.h.#.mlp.c_proj."}}};

std::span<const NamePair> pairs_of(GgufFamily family) {
    return family == GgufFamily::llama ? std::span<const NamePair>(llama_pairs)
                                       : std::span<const NamePair>(gpt2_pairs);
}

bool is_of(std::string_view name, std::string_view part) {
    return translated_name(name, part, "").has_value();
}

}  // namespace

std::string huggingface_name(GgufFamily family, std::string_view gguf) {
    for (const auto& pair : pairs_of(family)) {
        if (const auto name = translated_name(gguf, pair.gguf, pair.huggingface)) return *name;
    }
    return std::string(gguf);
}

std::string gguf_name(GgufFamily family, std::string_view huggingface) {
    for (const auto& pair : pairs_of(family)) {
        if (const auto name = translated_name(huggingface, pair.huggingface, pair.gguf)) return *name;
    }
    return std::string(huggingface);
}

GgufForm form_of(GgufFamily family, std::string_view gguf, const config::ModelConfig& model) {
    if (family == GgufFamily::llama) {
        if (is_of(gguf, "blk.#.attn_q.")) return {model.heads, false};
        return {is_of(gguf, "blk.#.attn_k.") ? model.kv_heads : 0, false};
    }
    for (const auto* const part : {"attn_qkv", "attn_output", "ffn_up", "ffn_down"}) {
        if (is_of(gguf, std::string("blk.#.") + part + ".weight")) return {0, true};
    }
    return {};
}

}  // namespace switchyard::model
