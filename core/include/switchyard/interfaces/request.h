// What the core asks of a component before it calls it: pure metadata, no tensor, no device.
// `supports(request, host, options)` answers with a Verdict; a component that said yes must then serve every
// call within the request's ranges.
#pragma once

#include <cstdint>

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
};

// x [rows, width] (gated: [rows, 2 * width]); see activation.h.
struct ActivationRequest : Request {
    ActivationKind activation = ActivationKind::gelu_erf;
    Range rows = 1;
    Range width = 1;  // of the output
    bool input_bias = false;
    double dropout = 0.0;
};

// logits [rows, classes], or hidden [rows, width] with the projection fused in; see loss.h.
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
};

struct OptimizerRequest : Request {  // dtype: of the parameters
    OptimizerKind algorithm = OptimizerKind::adamw;
    DType gradient_dtype = DType::float32;
    bool master_weights = false;  // float32 copies of low-precision parameters
    bool clip = false;            // clipping by global norm folded into the step
    bool unscale = false;         // division by the loss scale folded into the step
    std::int64_t parameters = 0;  // number of values, 0 if unknown
    std::int64_t tensors = 0;
};

struct PrecisionRequest : Request {  // dtype: of the parameters as the model stores them
    bool loss_scaling = false;
};

struct DataLoaderRequest : Request {
    Range batch = 1;
    Range length = 1;               // tokens of a sample
    bool labels_per_token = false;  // else per sample
};

}  // namespace switchyard
