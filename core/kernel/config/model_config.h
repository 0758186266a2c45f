// [model]: what is computed. Sizes and formulas only; who computes them stands in the slots (slot_config.h).
//
// In a loaded Config every value is final: what was left out has been filled in from the type's usual form
// (table.cpp) or from the other sizes (derive.cpp), so that a reader never has to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// bert: a stack of encoder layers (Devlin et al. 2018);  gpt: causal decoder layers without cross-attention
// (Radford et al. 2019, also Llama's shape);  t5: an encoder and a decoder that attends to it (Raffel et al.
// 2020).
enum class ModelType : std::uint8_t { bert, gpt, t5 };

// Where a block normalizes. post: norm(x + f(x)); pre: x + f(norm(x)), and once more at the end of the stack.
enum class NormPosition : std::uint8_t { pre, post };

// How a model knows the order of its tokens. learned and sinusoidal are added to the embeddings, rotary turns
// q and k, alibi and t5 add to the scores (MaskKind::alibi, MaskKind::relative_bias).
enum class Positions : std::uint8_t { learned, sinusoidal, rotary, alibi, t5 };

// Between the two linear layers of a classifier of texts: tanh (BERT, RoBERTa) or relu (DistilBERT).
enum class Pooler : std::uint8_t { tanh, relu };

// What slows the rotations of rotary positions for longer sequences than a model was first trained on.
// linear: all by rotary_factor (Chen et al. 2023, arXiv:2306.15595); llama3: those with wavelengths above
// rotary_original_positions / rotary_low_freq_factor by it, those below .../ rotary_high_freq_factor not
// at all, those between in part (Llama 3.1's published code, apply_scaling).
enum class RotaryScaling : std::uint8_t { none, linear, llama3 };

// A stack of layers. gpt has a decoder only, bert an encoder only.
enum class Stack : std::uint8_t { encoder, decoder };

struct ModelConfig {
    ModelType type = ModelType::bert;
    std::int64_t layers = 12;         // of the encoder; of the decoder where there is no encoder
    std::int64_t decoder_layers = 0;  // t5 only, else 0
    std::int64_t hidden_size = 768;
    std::int64_t heads = 12;
    std::int64_t kv_heads = 12;             // heads is a multiple of it
    std::int64_t head_dim = 64;             // of q, k and v
    std::int64_t intermediate_size = 3072;  // width of the feed-forward, after the gate where it is gated
    std::int64_t vocab_size = 30522;
    std::int64_t max_positions = 512;
    NormKind norm = NormKind::layer_norm;
    double norm_eps = 1e-12;
    NormPosition norm_position = NormPosition::post;
    ActivationKind activation = ActivationKind::gelu_erf;
    Positions positions = Positions::learned;
    std::int64_t segments = 2;       // kinds of tokens that a bert tells apart; 0 and 1: it does not
    Pooler pooler = Pooler::tanh;    // bert only
    bool bias = true;                // linear layers have a bias, and so has LayerNorm; RMSNorm never has
    bool tie_embeddings = true;      // the output projection is the embedding table
    double dropout = 0.1;            // of embeddings, feed-forward and before each residual sum
    double attention_dropout = 0.1;  // of attention probabilities
    // Keys that a query sees up to and including its own, in an encoder as many after it; 0: all.
    std::int64_t window = 0;
    std::int64_t prefix = 0;        // first tokens of a sequence that all its tokens see; gpt only; 0: none
    double soft_cap = 0.0;          // of attention scores; 0: none
    double rotary_theta = 10000.0;  // base of the wavelengths of rotary positions
    RotaryScaling rotary_scaling = RotaryScaling::none;
    double rotary_factor = 1.0;
    double rotary_low_freq_factor = 1.0;
    double rotary_high_freq_factor = 4.0;
    std::int64_t rotary_original_positions = 8192;
    std::string custom_activation;  // the name of the activation where it is a custom one, else empty

    bool operator==(const ModelConfig&) const = default;

    bool has(Stack stack) const {
        return stack == Stack::encoder ? type != ModelType::gpt : type != ModelType::bert;
    }
    // Layers of that stack, 0 where the type has none.
    std::int64_t layers_of(Stack stack) const {
        if (!has(stack)) return 0;
        return stack == Stack::decoder && type == ModelType::t5 ? decoder_layers : layers;
    }
    // Self-attention of a decoder is causal, an encoder's is not.
    static bool causal(Stack stack) { return stack == Stack::decoder; }
    bool has_cross_attention() const { return type == ModelType::t5; }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<config::ModelType>{"bert", "gpt", "t5"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::NormPosition>{"pre", "post"};
template <>
inline constexpr std::array<std::string_view, 5> names<config::Positions>{"learned", "sinusoidal", "rotary",
                                                                          "alibi", "t5"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::RotaryScaling>{"none", "linear", "llama3"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::Pooler>{"tanh", "relu"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::Stack>{"encoder", "decoder"};
}  // namespace switchyard
