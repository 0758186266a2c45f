// What the core asks of a component before it calls it: pure metadata, no tensor, no device.
// `supports(request, host, options)` answers with a Verdict; a component that said yes must then serve every
// call within the request's ranges.
//
// Each request lists its own members once, in `each_field`, which calls f(name, member) for each in the order
// in which they are declared; `r` is the request, const or not. What compares, describes or relaxes requests,
// and the digest of their layout (layout_digest.h), take the members from there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <switchyard/interfaces/flag_set.h>
#include <switchyard/interfaces/range.h>
#include <switchyard/interfaces/types.h>

namespace switchyard {

using MaskSet = FlagSet<MaskKind>;

// Common to all kinds. `dtype` is the storage dtype of the main inputs.
struct Request {
    DType dtype = DType::float32;
    Device device = Device::cpu;
    Layout layout = Layout::padded;
    Phase phase = Phase::train;
    bool needs_grad = false;
    bool deterministic = false;  // same input, same bits, run after run
    bool allow_reduced = false;  // may a component of Accuracy::reduced answer?

    template <class R, class F>
    static constexpr void each_common_field(R& r, F&& f) {
        f("dtype", r.dtype), f("device", r.device), f("layout", r.layout), f("phase", r.phase),
            f("needs_grad", r.needs_grad), f("deterministic", r.deterministic),
            f("allow_reduced", r.allow_reduced);
    }
};

// q_BHND, k_BKMD, v_BKMD (padded) or q_THD, k_SKD, v_SKD (packed); see attention.h.
struct AttentionRequest : Request {
    Range batch = 1;
    Range heads = 1;
    Range kv_heads = 1;  // heads is a multiple of kv_heads
    Range q_length = 1;
    Range kv_length = 1;
    Range head_dim = 64;    // of q and k
    Range v_head_dim = 64;  // of v and the output
    MaskSet masks;
    bool bias_gradient = false;  // gradient of the dense bias or of the relative-bias table
    double dropout = 0.0;
    bool paged_cache = false;  // k and v lie in pages (kv_cache.h)
    // What calls may give; where one is false no call does.
    bool query_offsets = false;  // AttentionMask::query_offsets; false: fewer queries than keys are the last
    bool custom_scale = false;   // AttentionParams::scale; false: 1 / sqrt(head_dim)
    bool want_lse = false;       // AttentionParams::want_lse

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("batch", r.batch), f("heads", r.heads), f("kv_heads", r.kv_heads), f("q_length", r.q_length),
            f("kv_length", r.kv_length), f("head_dim", r.head_dim), f("v_head_dim", r.v_head_dim),
            f("masks", r.masks), f("bias_gradient", r.bias_gradient), f("dropout", r.dropout),
            f("paged_cache", r.paged_cache), f("query_offsets", r.query_offsets),
            f("custom_scale", r.custom_scale), f("want_lse", r.want_lse);
    }
};

// x [rows, width]; see normalization.h. The flags name the wide form norm(residual + dropout(x + bias)).
struct NormalizationRequest : Request {
    NormKind norm = NormKind::layer_norm;
    Range rows = 1;
    Range width = 1;
    DType parameter_dtype = DType::float32;
    bool affine_bias = true;  // beta is there (LayerNorm)
    bool input_bias = false;  // x + bias
    bool residual = false;    // residual + ..., the sum is an output too
    double dropout = 0.0;

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("norm", r.norm), f("rows", r.rows), f("width", r.width), f("parameter_dtype", r.parameter_dtype),
            f("affine_bias", r.affine_bias), f("input_bias", r.input_bias), f("residual", r.residual),
            f("dropout", r.dropout);
    }
};

// x [rows, width] (gated: [rows, 2 * width]); see activation.h.
struct ActivationRequest : Request {
    ActivationKind activation = ActivationKind::gelu_erf;
    Range rows = 1;
    Range width = 1;  // of the output
    bool input_bias = false;
    double dropout = 0.0;
    std::string custom;  // the name of the activation where that is ActivationKind::custom, else empty

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("activation", r.activation), f("rows", r.rows), f("width", r.width), f("input_bias", r.input_bias),
            f("dropout", r.dropout), f("custom", r.custom);
    }
};

// logits [rows, classes], or hidden [rows, width] with the projection fused in (of targets that are classes
// only); see loss.h.
struct LossRequest : Request {
    Range rows = 1;
    Range classes = 2;
    Range width = 0;  // of hidden; 0 when logits are given
    bool projection = false;
    bool projection_bias = false;
    double label_smoothing = 0.0;
    double z_loss = 0.0;
    bool per_row = false;               // losses of the rows, not their sum or mean
    bool may_overwrite_logits = false;  // calls may give up their logits: LossParams::may_overwrite_logits
    LossKind loss = LossKind::cross_entropy;
    // Of LossKind::custom: its name, and whether targets are values, as of a mean squared error, or classes.
    std::string custom;
    bool value_targets = false;

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("rows", r.rows), f("classes", r.classes), f("width", r.width), f("projection", r.projection),
            f("projection_bias", r.projection_bias), f("label_smoothing", r.label_smoothing),
            f("z_loss", r.z_loss), f("per_row", r.per_row), f("may_overwrite_logits", r.may_overwrite_logits),
            f("loss", r.loss), f("custom", r.custom), f("value_targets", r.value_targets);
    }
};

struct OptimizerRequest : Request {  // dtype: of the parameters
    OptimizerKind algorithm = OptimizerKind::adamw;
    DType gradient_dtype = DType::float32;
    bool master_weights = false;  // float32 copies of low-precision parameters
    bool clip = false;            // clipping by global norm folded into the step
    bool unscale = false;         // division by the loss scale folded into the step
    std::int64_t parameters = 0;  // number of values, 0 if unknown
    std::int64_t tensors = 0;
    std::string custom;  // the name of the algorithm where that is OptimizerKind::custom, else empty

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("algorithm", r.algorithm), f("gradient_dtype", r.gradient_dtype),
            f("master_weights", r.master_weights), f("clip", r.clip), f("unscale", r.unscale),
            f("parameters", r.parameters), f("tensors", r.tensors), f("custom", r.custom);
    }
};

struct PrecisionRequest : Request {  // dtype: of the parameters as the model stores them
    bool loss_scaling = false;

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("loss_scaling", r.loss_scaling);
    }
};

struct DataLoaderRequest : Request {
    Range batch = 1;
    Range length = 1;               // tokens of a sample
    bool labels_per_token = false;  // else per sample
    std::int64_t token_budget = 0;  // LoaderParams; 0: none

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("batch", r.batch), f("length", r.length), f("labels_per_token", r.labels_per_token);
        f("token_budget", r.token_budget);
    }
};

// x [rows, in], weight [out, in]; see linear.h. dtype: of the operands as they are multiplied.
struct LinearRequest : Request {
    Range rows = 1;
    std::int64_t in = 1;
    std::int64_t out = 1;
    DType weight_dtype = DType::float32;  // as it is multiplied
    DType output_dtype = DType::float32;
    WeightFormat weight_format = WeightFormat::dense;
    bool bias = false;
    bool tf32 = false;  // float32 operands may be rounded to TensorFloat-32
    // Of a quantized weight alone; 0, false and none where it is another.
    std::int64_t weight_bits = 0;   // 8 or 4
    std::int64_t weight_group = 0;  // columns that share a scale; 0: all of a row
    bool zero_points = false;
    InputQuantization input_quantization = InputQuantization::none;

    template <class R, class F>
    static constexpr void each_field(R& r, F&& f) {
        f("rows", r.rows), f("in", r.in), f("out", r.out), f("weight_dtype", r.weight_dtype),
            f("output_dtype", r.output_dtype), f("weight_format", r.weight_format), f("bias", r.bias),
            f("tf32", r.tf32), f("weight_bits", r.weight_bits), f("weight_group", r.weight_group),
            f("zero_points", r.zero_points), f("input_quantization", r.input_quantization);
    }
};

// The member that says which formula, of kinds of component that have several.
inline NormKind& formula_of(NormalizationRequest& request) { return request.norm; }
inline ActivationKind& formula_of(ActivationRequest& request) { return request.activation; }
inline LossKind& formula_of(LossRequest& request) { return request.loss; }
inline OptimizerKind& formula_of(OptimizerRequest& request) { return request.algorithm; }
inline ActivationKind formula_of(const ActivationRequest& request) { return request.activation; }
inline LossKind formula_of(const LossRequest& request) { return request.loss; }
inline OptimizerKind formula_of(const OptimizerRequest& request) { return request.algorithm; }

// Where a component may bring a formula of its own: "gelu_erf", "custom:adafactor".
template <class R>
std::string formula_name(const R& request) {
    return formula_name(formula_of(request), request.custom);
}

// Whether each value of x has a target of its own, a floating number; else each row has a class.
inline bool has_value_targets(const LossRequest& request) {
    if (is_custom(request.loss)) return request.value_targets;
    return request.loss != LossKind::cross_entropy;
}

}  // namespace switchyard
