// The keys of [model].
#include <switchyard/config/table.h>

namespace switchyard::config {
namespace {

template <auto Member>
Field model(std::string_view key, std::string_view help) {
    return field<&Config::model, Member>("model." + std::string(key), help);
}

}  // namespace

// The usual forms: Devlin et al. 2018 and its published code (bert), Radford et al. 2019 and its published
// code (gpt), Raffel et al. 2020 (t5).
std::vector<Field> model_fields() {
    using M = ModelConfig;
    constexpr double most_layers = 1000;
    constexpr double widest = 1 << 20;
    constexpr double longest = 1 << 28;
    return {
        model<&M::type>("type", "bert: encoder; gpt: causal decoder; t5: encoder and decoder")
            .known_as("model_type arch architecture"),
        model<&M::layers>("layers", "layers of the encoder, or of the decoder where there is no encoder")
            .within(1, most_layers)
            .usually(12, 12, 6)
            .known_as("num_hidden_layers num_layers n_layer n_layers encoder_layers depth"),
        model<&M::decoder_layers>("decoder_layers", "layers of a t5's decoder")
            .within(0, most_layers)
            .from("layers for t5, else 0")
            .known_as("num_decoder_layers"),
        model<&M::hidden_size>("hidden_size", "width of the residual stream")
            .within(1, widest)
            .usually(768, 768, 512)
            .known_as("d_model hidden_dim n_embd dim embed_dim width"),
        model<&M::heads>("heads", "query heads")
            .within(1, widest)
            .usually(12, 12, 8)
            .known_as("num_attention_heads num_heads n_head n_heads nhead"),
        model<&M::kv_heads>("kv_heads", "key and value heads; divides heads")
            .within(1, widest)
            .from("heads")
            .known_as("num_key_value_heads n_kv_heads num_kv_heads"),
        model<&M::head_dim>("head_dim", "width of one head")
            .within(1, widest)
            .from("hidden_size / heads")
            .known_as("d_kv head_size"),
        model<&M::intermediate_size>("intermediate_size",
                                     "width of the feed-forward, after the gate where it is gated")
            .within(1, widest)
            .from("4 * hidden_size")
            .known_as("d_ff ffn_dim n_inner feed_forward ffn_size mlp_dim"),
        model<&M::vocab_size>("vocab_size", "words of the embedding table")
            .within(2, longest)
            .usually(30522, 50257, 32128)
            .known_as("n_vocab vocabulary"),
        model<&M::max_positions>("max_positions", "tokens of the longest sequence")
            .within(1, longest)
            .usually(512, 1024, 512)
            .known_as("max_position_embeddings n_positions n_ctx context_length max_seq_len seq_len"),
        model<&M::norm>("norm", "formula of the normalizations")
            .usually("layer_norm", "layer_norm", "rms_norm")
            .known_as("normalization norm_type"),
        model<&M::norm_eps>("norm_eps", "added to the variance")
            .above(0)
            .usually(1e-12, 1e-5, 1e-6)
            .known_as("layer_norm_eps rms_norm_eps layer_norm_epsilon"),
        model<&M::norm_position>("norm_position", "pre: x + f(norm(x)); post: norm(x + f(x))")
            .usually("post", "pre", "pre")
            .known_as("pre_norm post_norm"),
        model<&M::activation>("activation", "activation of the feed-forward; the glu kinds are gated")
            .usually("gelu_erf", "gelu_tanh", "relu")
            .known_as("hidden_act activation_function act"),
        model<&M::positions>("positions", "how the model knows the order of tokens")
            .usually("learned", "learned", "t5")
            .known_as("position_embedding_type position_embeddings"),
        model<&M::bias>("bias", "linear layers have a bias, and so has LayerNorm")
            .usually(true, true, false)
            .known_as("use_bias"),
        model<&M::tie_embeddings>("tie_embeddings", "the output projection is the embedding table")
            .known_as("tie_word_embeddings"),
        model<&M::dropout>("dropout",
                           "dropout of embeddings, of the feed-forward and before each residual sum")
            .at_least(0)
            .below(1)
            .for_layers()
            .known_as("hidden_dropout_prob resid_pdrop dropout_rate"),
        model<&M::attention_dropout>("attention_dropout", "dropout of attention probabilities")
            .at_least(0)
            .below(1)
            .for_layers()
            .known_as("attention_probs_dropout_prob attn_pdrop attn_dropout"),
        model<&M::window>(
            "window",
            "keys that a query sees up to and including its own, in an encoder as many after it; 0: all")
            .within(0, longest)
            .for_layers()
            .known_as("sliding_window"),
        model<&M::prefix>("prefix", "first tokens of a sequence that all its tokens see; gpt only; 0: none")
            .within(0, longest),
        model<&M::soft_cap>("soft_cap",
                            "attention scores become soft_cap * tanh(score / soft_cap); 0: they stay")
            .at_least(0)
            .for_layers()
            .known_as("attn_logit_softcapping"),
    };
}

}  // namespace switchyard::config
