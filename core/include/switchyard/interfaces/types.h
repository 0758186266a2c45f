// The vocabulary that every contract shares: dtypes, devices, phases, layouts and how a component says what
// it guarantees (the kinds of components: kinds.h). No LibTorch here, so that configuration, discovery and
// planning stay light; <switchyard/interfaces/torch_types.h> converts to and from LibTorch's own types.
//
// Every enumeration has exactly one spelling in text, the one used in TOML, in plugin.toml, in JSON output
// and in messages: `name(value)` gives it, `parse<Enum>(text)` reads it. Enumerators are only ever appended:
// their values cross the plugin boundary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

// Element types. fp8 formats are the OCP ones (OFP8 1.0, 2023): e4m3fn has no infinity, e5m2 follows IEEE
// 754.
enum class DType : std::uint8_t {
    float32,
    float64,
    bfloat16,
    float16,
    float8_e4m3fn,
    float8_e5m2,
    int64,
    int32,
    int8,
    uint8,
    boolean
};

enum class Device : std::uint8_t { cpu, cuda };

// What a call is for. `train` keeps what backward needs; `eval` is a forward over whole sequences without
// gradients; `prefill` fills a KV cache with a prompt; `decode` appends one or a few tokens to it.
enum class Phase : std::uint8_t { train, eval, prefill, decode };

// How a batch of sequences lies in memory.
//   padded: [batch, seq, ...] with a length per row;
//   packed: [total, ...] with cu_seqlens, sequences end to end.
enum class Layout : std::uint8_t { padded, packed };

// Who differentiates a component (see <switchyard/interfaces/saved.h>):
//   kernel:         it has a backward of its own, the core owns the autograd node;
//   differentiable: made of ATen calls that autograd follows;
//   recompute:      the core runs and differentiates the reference in backward;
//   none:           it has no gradient.
enum class GradientMode : std::uint8_t { kernel, differentiable, recompute, none };

// Where dropout's randomness comes from (see <switchyard/interfaces/dropout.h>):
//   none:    the component has no dropout;
//   counter: the core's counter-based generator, the same mask on every backend;
//   library: LibTorch's generator, which the core saves and restores around recomputation.
enum class RandomSource : std::uint8_t { none, counter, library };

// How a data loader puts batches together.
//   reference: the samples in the order of the reference (reference/epoch_order.h), so many in each batch;
//   own:       in an order and in numbers of its own (by length, by a budget of tokens). Each sample still
//              comes once an epoch, and all is a function of seed, epoch and ranks alone. Another order is
//              another training: `auto` takes such a component only where there is a budget of tokens.
enum class Composition : std::uint8_t { reference, own };

// exact: errs no more than twice as much as the reference run in the same dtype;
// reduced: declares its own bound (relative root-mean-square error), and `auto` takes it only where it is
// allowed.
enum class Accuracy : std::uint8_t { exact, reduced };

enum class NormKind : std::uint8_t { layer_norm, rms_norm };

// Gated kinds work on a packed projection [..., 2 * width]: act(first half) * second half
// (Shazeer 2020, "GLU Variants Improve Transformer", arXiv:2002.05202). identity is what dropout(x + bias)
// needs that stands alone. custom: one that a component brings along, of a name of its own (custom_prefix).
enum class ActivationKind : std::uint8_t {
    gelu_erf,
    gelu_tanh,
    relu,
    silu,
    swiglu,
    geglu_erf,
    geglu_tanh,
    reglu,
    identity,
    custom
};

// What a loss holds against its targets: loss.h. custom: as above.
enum class LossKind : std::uint8_t { cross_entropy, mean_squared_error, binary_cross_entropy, custom };

// custom: as above.
enum class OptimizerKind : std::uint8_t { adamw, adam, sgd, lion, lamb, muon, custom };

// Classes of operations that a precision policy tells apart (precision.h).
enum class OpClass : std::uint8_t { linear, attention, normalization, activation, loss, embedding, residual };

// How a linear layer's operands come: linear.h.
enum class WeightFormat : std::uint8_t { dense, scaled, quantized };

// In which numbers a linear layer with a quantized weight takes its input: as it comes, or in 8 bits with the
// scale of each row (dynamic) or the one that the weight brings along (fixed: "static" in text).
enum class InputQuantization : std::uint8_t { none, dynamic, fixed };

// Parts of a mask that a request can ask for; a request holds a set of them. Their data and exact meaning:
// mask.h.
enum class MaskKind : std::uint8_t {
    causal,
    key_lengths,
    documents,
    sliding_window,
    prefix,
    alibi,
    relative_bias,
    soft_cap,
    dense_bias
};

template <class Enum>
inline constexpr std::array<std::string_view, 0> names{};
template <>
inline constexpr std::array<std::string_view, 11> names<DType>{
    "float32", "float64", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2",
    "int64",   "int32",   "int8",     "uint8",   "boolean"};
template <>
inline constexpr std::array<std::string_view, 2> names<Device>{"cpu", "cuda"};
template <>
inline constexpr std::array<std::string_view, 4> names<Phase>{"train", "eval", "prefill", "decode"};
template <>
inline constexpr std::array<std::string_view, 2> names<Layout>{"padded", "packed"};
template <>
inline constexpr std::array<std::string_view, 4> names<GradientMode>{"kernel", "differentiable", "recompute",
                                                                     "none"};
template <>
inline constexpr std::array<std::string_view, 3> names<RandomSource>{"none", "counter", "library"};
template <>
inline constexpr std::array<std::string_view, 2> names<Composition>{"reference", "own"};
template <>
inline constexpr std::array<std::string_view, 2> names<Accuracy>{"exact", "reduced"};
template <>
inline constexpr std::array<std::string_view, 2> names<NormKind>{"layer_norm", "rms_norm"};
template <>
inline constexpr std::array<std::string_view, 10> names<ActivationKind>{
    "gelu_erf",  "gelu_tanh",  "relu",  "silu",     "swiglu",
    "geglu_erf", "geglu_tanh", "reglu", "identity", "custom"};
template <>
inline constexpr std::array<std::string_view, 4> names<LossKind>{"cross_entropy", "mean_squared_error",
                                                                 "binary_cross_entropy", "custom"};
template <>
inline constexpr std::array<std::string_view, 7> names<OptimizerKind>{"adamw", "adam", "sgd",   "lion",
                                                                      "lamb",  "muon", "custom"};
template <>
inline constexpr std::array<std::string_view, 7> names<OpClass>{
    "linear", "attention", "normalization", "activation", "loss", "embedding", "residual"};
template <>
inline constexpr std::array<std::string_view, 3> names<WeightFormat>{"dense", "scaled", "quantized"};
template <>
inline constexpr std::array<std::string_view, 3> names<InputQuantization>{"none", "dynamic", "static"};
template <>
inline constexpr std::array<std::string_view, 9> names<MaskKind>{
    "causal", "key_lengths",   "documents", "sliding_window", "prefix",
    "alibi",  "relative_bias", "soft_cap",  "dense_bias"};

// How a formula of a component's own is written: "custom:NAME". A component names those it brings in its
// plugin.toml (ComponentManifest::custom), and is asked for no other.
inline constexpr std::string_view custom_prefix = "custom:";

template <class Enum>
constexpr std::string_view name(Enum value) {
    const auto index = static_cast<std::size_t>(value);
    return index < names<Enum>.size() ? names<Enum>[index] : std::string_view{"unknown"};
}

template <class Enum>
constexpr std::optional<Enum> parse(std::string_view text) {
    for (std::size_t i = 0; i < names<Enum>.size(); ++i) {
        if (names<Enum>[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

// Of a kind whose last formula is `custom`: how many there are that everyone knows, and whether it is that.
template <class Enum>
inline constexpr std::size_t known_formulas = std::size(names<Enum>) -
                                              static_cast<std::size_t>(std::size(names<Enum>) > 0 &&
                                                                       *(std::end(names<Enum>) - 1) ==
                                                                           "custom");
template <class Enum>
constexpr bool is_custom(Enum formula) {
    return name(formula) == "custom";
}

// As it is written: "adamw", "custom:adafactor".
template <class Enum>
std::string formula_name(Enum formula, std::string_view custom) {
    if (!is_custom(formula)) return std::string(name(formula));
    return std::string(custom_prefix).append(custom);
}

// Of "custom:adafactor" the name, of others nothing.
constexpr std::string_view custom_name(std::string_view written) {
    return written.starts_with(custom_prefix) ? written.substr(custom_prefix.size()) : std::string_view{};
}

constexpr bool is_gated(ActivationKind kind) {
    return kind >= ActivationKind::swiglu && kind <= ActivationKind::reglu;
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::float8_e5m2; }

// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) {
    switch (dtype) {
        case DType::float64:
        case DType::int64:
            return 8;
        case DType::float32:
        case DType::int32:
            return 4;
        case DType::bfloat16:
        case DType::float16:
            return 2;
        default:
            return 1;
    }
}

}  // namespace switchyard
