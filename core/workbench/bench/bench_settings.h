// What a bench is asked for, as text has already been turned into numbers. No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include "core/workbench/bench/bench_shape.h"

namespace switchyard::bench {

// What one timed call does. A step is an optimizer's; backward alone goes through one graph again and again.
enum class Pass : std::uint8_t { forward, forward_backward, step, backward };

// Lengths of the sequences of a batch. Padded: key lengths; packed: documents.
struct LengthRange {
    std::int64_t min = 0;
    std::int64_t max = 0;
    std::int64_t median = 0;  // 0: drawn uniformly; else half are up to it, and longer ones ever rarer

    // For a number drawn uniformly from [0, 1).
    std::int64_t at(double uniform) const;
    std::string text() const;  // as it is read
};

// The operation, apart from shape and dtype. Members of other kinds than `kind` are not read.
struct BenchSettings {
    Kind kind = Kind::attention;
    std::uint64_t seed = 1;  // of the inputs, the order and the bootstrap
    double dropout = 0.0;
    Device device = Device::cpu;  // where backends compute; what they are held against is the CPU's

    // attention
    Layout layout = Layout::padded;
    bool causal = false;
    std::optional<LengthRange> lengths;
    std::int64_t window = 0;  // keys to each side that a query sees (to the left only, if causal); 0: all
    std::int64_t prefix = 0;
    bool alibi = false;
    std::int64_t relative_buckets = 0;
    double soft_cap = 0.0;
    bool dense_bias = false;
    bool query_offsets = false;  // calls give them, in the padded layout: queries are each row's last tokens
    bool custom_scale = false;   // calls give 1 / sqrt(head_dim)

    // normalization, activation
    NormKind norm = NormKind::layer_norm;
    ActivationKind activation = ActivationKind::gelu_erf;
    bool residual = false;
    bool affine_bias = true;  // of layer_norm

    // normalization, activation, linear
    bool bias = false;  // added to the input; of linear, to the output
    DType parameter_dtype = DType::float32;

    // loss
    double label_smoothing = 0.0;
    double z_loss = 0.0;
    bool projection_bias = false;
    bool in_place = false;  // logits are given up: gradients may take their memory

    // optimizer
    OptimizerKind algorithm = OptimizerKind::adamw;
    double max_grad_norm = 0.0;  // 0: no clipping
    bool unscale = false;        // by a loss scale of 1

    MaskSet masks() const;
    // What is special about it, for people: "causal, dropout 0.1"; empty if nothing is.
    std::string describe() const;
};

// Reads one member of --mask into the settings: "causal", "sliding_window=128", "prefix=16", "alibi",
// "relative_bias=32", "soft_cap=30", "dense_bias", "key_lengths=64-512". Returns what is wrong with it, or
// "".
std::string read_mask(const std::string& text, BenchSettings& settings);

// "64-512" (drawn uniformly), "40:512" (a median and the largest), or one number. Returns what is wrong with
// it, or "".
std::string read_lengths(const std::string& text, std::optional<LengthRange>& lengths);

// What cannot be asked for together, or with that shape: "" if all is well.
std::string check_settings(const BenchSettings& settings, const BenchShape& shape);

}  // namespace switchyard::bench

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<bench::Pass>{"forward", "forward_backward", "step",
                                                                    "backward"};
}  // namespace switchyard
