/* The stable tier: a plugin in plain C, which a host with another LibTorch accepts, too.
 *
 * Such a plugin exports one structure, `switchyard_stable_plugin_v1`, and says `tier = "stable"` in its
 * plugin.toml. It gets tensors as LibTorch's own stable handles (stable_tensor.h) and the rest as the
 * structures below, and it calls nothing of LibTorch's C++ libraries. So neither LibTorch's build nor the
 * layout of Switchyard's C++ contracts is compared before it is loaded; only the version of this interface
 * is.
 *
 * How it grows. Every structure begins with `struct_size`, its size as the one who fills it in knows it.
 * Members are only added at the end, enumerators only at the end of their list, both with a new MINOR. Who
 * reads a structure reads a member only where struct_size reaches behind it: SWITCHYARD_HAS says so. MAJOR
 * changes when something that is here changes its meaning, which gets a new symbol, too.
 *
 * Rules for all functions of a plugin:
 *   - Status: 0 is fine. Anything else ends the call with the text that `fail` of the services was given
 *     last.
 *   - No exception leaves a function of a plugin or of the services. A plugin in C++ or Rust catches its own.
 *   - Handles, pointers and texts in arguments are borrowed for the call. To keep a tensor:
 *     aoti_torch_new_tensor_handle.
 *   - A handle that the plugin writes into a member "given" is the host's from then on, also where the call
 *     ends with an error. It is never one of the borrowed handles themselves.
 *   - NULL stands for a tensor that is not there.
 *   - One component is called from one thread at a time.
 * What the operations mean - shapes, formulas, dtypes, what is asked for when - is said once, in the contract
 * of the kind (normalization.h, ...), whose members have the same names here.
 *
 * Learned from: ONNX Runtime's C API (onnxruntime_c_api.h), OpenXLA's PJRT C API (pjrt_c_api.h), LibTorch's C
 * shim (torch/csrc/inductor/aoti_torch/c/shim.h).
 */
#ifndef SWITCHYARD_STABLE_ABI_H
#define SWITCHYARD_STABLE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SWITCHYARD_STABLE_MAGIC UINT64_C(0x314c425453595753) /* "SWYSTBL1", little endian */
#define SWITCHYARD_STABLE_ABI_MAJOR 1
#define SWITCHYARD_STABLE_ABI_MINOR 0

/* Has the structure that `pointer` points to this member, as the one knows it who filled it in? */
#define SWITCHYARD_HAS(Type, pointer, member) \
    ((pointer)->struct_size >= offsetof(Type, member) + sizeof((pointer)->member))

#define SWITCHYARD_STABLE_EXPORT __attribute__((visibility("default")))

/* LibTorch's handle of a tensor. */
struct AtenTensorOpaque;
typedef struct AtenTensorOpaque* AtenTensorHandle;

/* The numbers are those of types.h and verdict.h. */
enum {
    SWITCHYARD_FLOAT32,
    SWITCHYARD_FLOAT64,
    SWITCHYARD_BFLOAT16,
    SWITCHYARD_FLOAT16,
    SWITCHYARD_FLOAT8_E4M3FN,
    SWITCHYARD_FLOAT8_E5M2,
    SWITCHYARD_INT64,
    SWITCHYARD_INT32,
    SWITCHYARD_INT8,
    SWITCHYARD_UINT8,
    SWITCHYARD_BOOLEAN
};
enum { SWITCHYARD_CPU, SWITCHYARD_CUDA };
enum { SWITCHYARD_TRAIN, SWITCHYARD_EVAL, SWITCHYARD_PREFILL, SWITCHYARD_DECODE };
enum { SWITCHYARD_PADDED, SWITCHYARD_PACKED };
enum { SWITCHYARD_LAYER_NORM, SWITCHYARD_RMS_NORM };
enum {
    SWITCHYARD_ADAMW,
    SWITCHYARD_ADAM,
    SWITCHYARD_SGD,
    SWITCHYARD_LION,
    SWITCHYARD_LAMB,
    SWITCHYARD_MUON,
    SWITCHYARD_CUSTOM /* one that the component's manifest names under `custom` */
};
/* Bits of a set of masks: 1u << SWITCHYARD_CAUSAL. */
enum {
    SWITCHYARD_CAUSAL,
    SWITCHYARD_KEY_LENGTHS,
    SWITCHYARD_DOCUMENTS,
    SWITCHYARD_SLIDING_WINDOW,
    SWITCHYARD_PREFIX,
    SWITCHYARD_ALIBI,
    SWITCHYARD_RELATIVE_BIAS,
    SWITCHYARD_SOFT_CAP,
    SWITCHYARD_DENSE_BIAS
};
enum { SWITCHYARD_SAVED_INPUT, SWITCHYARD_SAVED_OUTPUT, SWITCHYARD_SAVED_EXTRA };
/* Classes of obstacles, for `reject`. */
enum {
    SWITCHYARD_CODE_DEVICE,
    SWITCHYARD_CODE_DTYPE,
    SWITCHYARD_CODE_LAYOUT,
    SWITCHYARD_CODE_PHASE,
    SWITCHYARD_CODE_MASK,
    SWITCHYARD_CODE_SHAPE,
    SWITCHYARD_CODE_HEAD_DIM,
    SWITCHYARD_CODE_HEADS,
    SWITCHYARD_CODE_SEQUENCE,
    SWITCHYARD_CODE_WIDTH,
    SWITCHYARD_CODE_DROPOUT,
    SWITCHYARD_CODE_GRADIENT,
    SWITCHYARD_CODE_DETERMINISM,
    SWITCHYARD_CODE_ACCURACY,
    SWITCHYARD_CODE_ALGORITHM,
    SWITCHYARD_CODE_OPTION,
    SWITCHYARD_CODE_VARIANT,
    SWITCHYARD_CODE_CPU_FEATURE,
    SWITCHYARD_CODE_LIBRARY,
    SWITCHYARD_CODE_MEMORY,
    SWITCHYARD_CODE_FUSION,
    SWITCHYARD_CODE_COMPOSITION,
    SWITCHYARD_CODE_INTERNAL
};

/* The host's own objects, known by their pointers alone. */
typedef struct SwitchyardStableVerdict SwitchyardStableVerdict;
typedef struct SwitchyardStableOptions SwitchyardStableOptions;
typedef struct SwitchyardStableSaved SwitchyardStableSaved;
typedef struct SwitchyardStableState SwitchyardStableState;

/* What the host does for a plugin. Valid for the life of the process, callable from any thread. Functions
 * that return a status return 0, or something else having called `fail`, so that a plugin can return it at
 * once. */
typedef struct SwitchyardStableServices {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor; /* of the host */
    const char* libtorch_version;  /* "2.11.0": the one that is loaded */

    /* Counts one execution of a kernel by the component that was created with `token`. `variant` is a
     * literal, "" where there are none. */
    void (*executed)(void* token, const char* variant);
    /* level: 0 debug, 1 information, 2 warning, 3 error. The text is copied. */
    void (*log)(int32_t level, const char* plugin, const char* text);
    /* Why the call in progress on this thread will not end well. The text is copied. */
    void (*fail)(const char* text);
    /* One obstacle: the request's field, what would be served, what the request has. Texts are copied. */
    void (*reject)(SwitchyardStableVerdict* verdict, int32_t code, const char* field, const char* expected,
                   const char* got);

    /* "float32", "cuda": as users write them, for texts. */
    const char* (*dtype_name)(int32_t dtype);
    const char* (*device_name)(int32_t device);

    /* The component's own options, as plugin.toml declares them; defaults are filled in and values checked.
     * Texts live as long as the options. */
    int32_t (*option_boolean)(const SwitchyardStableOptions* options, const char* name, int32_t* value);
    int32_t (*option_integer)(const SwitchyardStableOptions* options, const char* name, int64_t* value);
    int32_t (*option_number)(const SwitchyardStableOptions* options, const char* name, double* value);
    int32_t (*option_string)(const SwitchyardStableOptions* options, const char* name, const char** value);
    int32_t (*option_list_size)(const SwitchyardStableOptions* options, const char* name, int64_t* size);
    int32_t (*option_list_item)(const SwitchyardStableOptions* options, const char* name, int64_t index,
                                const char** value);

    /* What forward keeps for backward (saved.h): tensors and integers, each counted from 0 in their order.
     * The handle stays the plugin's; tensors that are not there may be saved. What is read is borrowed. */
    int32_t (*save)(SwitchyardStableSaved* saved, AtenTensorHandle tensor, int32_t role);
    int32_t (*save_integer)(SwitchyardStableSaved* saved, int64_t value);
    int32_t (*saved_tensor)(const SwitchyardStableSaved* saved, int64_t index, AtenTensorHandle* tensor);
    int32_t (*saved_integer)(const SwitchyardStableSaved* saved, int64_t index, int64_t* value);

    /* Of an optimizer's `state`: adds one tensor of one parameter's state, which is not copied. */
    int32_t (*add_state)(SwitchyardStableState* state, const char* parameter, const char* key,
                         AtenTensorHandle value);

    /* Calls body(context, first, last) for parts of begin..end, on LibTorch's threads, and returns when all
     * are done; `grain` is the least that is worth a thread of its own. `body` must not fail. */
    void (*parallel_for)(int64_t begin, int64_t end, int64_t grain,
                         void (*body)(void* context, int64_t first, int64_t last), void* context);
} SwitchyardStableServices;

/* ---- What a component is asked ---- */

typedef struct SwitchyardStableRange {
    int64_t min, max; /* both are among what is asked for; this structure never grows */
} SwitchyardStableRange;

/* Common to all kinds. */
typedef struct SwitchyardStableRequest {
    uint32_t struct_size;
    int32_t dtype, device, layout, phase;
    int32_t needs_grad, deterministic, allow_reduced; /* 0 or 1 */
} SwitchyardStableRequest;

typedef struct SwitchyardStableNormalizationRequest {
    uint32_t struct_size;
    int32_t norm;
    SwitchyardStableRange rows, width;
    int32_t parameter_dtype;
    int32_t affine_bias, input_bias, residual;
    double dropout;
} SwitchyardStableNormalizationRequest;

/* Dense operands only: the host refuses scaled and quantized ones in the component's name. */
typedef struct SwitchyardStableLinearRequest {
    uint32_t struct_size;
    int32_t weight_dtype, output_dtype;
    int32_t bias, tf32;
    SwitchyardStableRange rows;
    int64_t in, out;
} SwitchyardStableLinearRequest;

/* Contiguous keys and values only: the host refuses a paged cache in the component's name. */
typedef struct SwitchyardStableAttentionRequest {
    uint32_t struct_size;
    uint32_t masks; /* bits */
    SwitchyardStableRange batch, heads, kv_heads, q_length, kv_length, head_dim, v_head_dim;
    int32_t bias_gradient, query_offsets, custom_scale, want_lse;
    double dropout;
} SwitchyardStableAttentionRequest;

typedef struct SwitchyardStableOptimizerRequest {
    uint32_t struct_size;
    int32_t algorithm;
    const char* algorithm_name; /* "adamw", "custom:adafactor"; of unknown numbers, too */
    int32_t gradient_dtype;
    int32_t master_weights, clip, unscale;
    int64_t parameters, tensors;
} SwitchyardStableOptimizerRequest;

typedef struct SwitchyardStableHost {
    uint32_t struct_size;
    int32_t described; /* 1: not the machine that runs this */
    int32_t cores;
    const char* cpu_model;
    const char* const* cpu_features; /* sorted, Linux's names */
    int64_t cpu_feature_count;
    int64_t l2_bytes, l3_bytes, memory_bytes;
    const char* libtorch_version;
    int32_t cuda_devices;
    int32_t compute_capability; /* of the first: 10 * major + minor; 0 where there is none */
} SwitchyardStableHost;

typedef struct SwitchyardStableSupports {
    uint32_t struct_size;
    const SwitchyardStableRequest* common;
    const void* request; /* SwitchyardStableNormalizationRequest, ... by the component's kind */
    const SwitchyardStableHost* host;
    const SwitchyardStableOptions* options;
    const char* variant;              /* asked for, or "" */
    SwitchyardStableVerdict* verdict; /* nothing rejected: it is served */
} SwitchyardStableSupports;

typedef struct SwitchyardStableCreate {
    uint32_t struct_size;
    const SwitchyardStableRequest* common; /* this and all else as `supports` said yes to; borrowed */
    const void* request;
    const SwitchyardStableHost* host;
    const SwitchyardStableOptions* options;
    const char* variant;
    void* token;     /* for `executed`; valid until `destroy` */
    void* component; /* given: the plugin's own, handed to all calls; destroyed by `destroy` */
} SwitchyardStableCreate;

/* ---- Calls, one structure for each ---- */

/* tokens.h and dropout.h; read only where dropout_p is above 0. */
typedef struct SwitchyardStableTokens {
    uint32_t struct_size;
    int32_t layout;
    AtenTensorHandle lengths, cu_seqlens, positions;
    int64_t max_seqlen, first_document;
} SwitchyardStableTokens;

typedef struct SwitchyardStableNormalizationForward {
    uint32_t struct_size;
    int32_t norm;
    double eps;
    double dropout_p;
    uint64_t dropout_seed;
    const SwitchyardStableTokens* tokens;
    AtenTensorHandle x, bias, residual, weight, beta;
    SwitchyardStableSaved* saved; /* NULL where no gradient will be asked for */
    AtenTensorHandle y, sum;      /* given */
} SwitchyardStableNormalizationForward;

typedef struct SwitchyardStableNormalizationBackward {
    uint32_t struct_size;
    int32_t norm;
    double eps;
    double dropout_p;
    uint64_t dropout_seed;
    const SwitchyardStableTokens* tokens;
    const SwitchyardStableSaved* saved;
    AtenTensorHandle grad_y, grad_sum; /* grad_sum may be NULL */
    int32_t needs_x, needs_bias, needs_residual, needs_weight, needs_beta;
    AtenTensorHandle x, bias, residual, weight, beta; /* given: the gradients that are needed */
} SwitchyardStableNormalizationBackward;

typedef struct SwitchyardStableNormalization {
    uint32_t struct_size;
    int32_t (*forward)(void* component, SwitchyardStableNormalizationForward* call);
    int32_t (*backward)(void* component, SwitchyardStableNormalizationBackward* call); /* NULL: none */
} SwitchyardStableNormalization;

typedef struct SwitchyardStableLinearCall {
    uint32_t struct_size;
    AtenTensorHandle x;      /* forward and weight_gradient */
    AtenTensorHandle weight; /* forward and input_gradient */
    AtenTensorHandle bias;   /* forward; may be NULL */
    AtenTensorHandle grad;   /* input_gradient and weight_gradient */
    AtenTensorHandle result; /* given */
} SwitchyardStableLinearCall;

typedef struct SwitchyardStableLinear {
    uint32_t struct_size;
    int32_t (*forward)(void* component, SwitchyardStableLinearCall* call);
    int32_t (*input_gradient)(void* component, SwitchyardStableLinearCall* call);  /* NULL: none */
    int32_t (*weight_gradient)(void* component, SwitchyardStableLinearCall* call); /* NULL: none */
} SwitchyardStableLinear;

/* mask.h; a member counts only where its bit is among `kinds`. */
typedef struct SwitchyardStableMask {
    uint32_t struct_size;
    uint32_t kinds;
    AtenTensorHandle key_lengths, query_offsets, prefix_lengths, alibi_slopes, cu_seqlens_q, cu_seqlens_k;
    int64_t window_left, window_right;
    double soft_cap;
    int32_t relative_bidirectional;
    int64_t relative_max_distance;
    int64_t max_seqlen_q, max_seqlen_k;
    int64_t first_document, first_head;
} SwitchyardStableMask;

typedef struct SwitchyardStableAttentionForward {
    uint32_t struct_size;
    int32_t layout;
    double scale;
    double dropout_p;
    uint64_t dropout_seed;
    int32_t want_lse;
    const SwitchyardStableMask* mask;
    AtenTensorHandle q, k, v, relative_bias, dense_bias;
    SwitchyardStableSaved* saved; /* NULL where no gradient will be asked for */
    AtenTensorHandle out, lse;    /* given */
} SwitchyardStableAttentionForward;

typedef struct SwitchyardStableAttentionBackward {
    uint32_t struct_size;
    int32_t layout;
    double scale;
    double dropout_p;
    uint64_t dropout_seed;
    const SwitchyardStableMask* mask;
    const SwitchyardStableSaved* saved;
    AtenTensorHandle grad_out;
    int32_t needs_q, needs_k, needs_v, needs_relative_bias, needs_dense_bias;
    AtenTensorHandle q, k, v, relative_bias, dense_bias; /* given: the gradients that are needed */
} SwitchyardStableAttentionBackward;

typedef struct SwitchyardStableAttention {
    uint32_t struct_size;
    int32_t (*forward)(void* component, SwitchyardStableAttentionForward* call);
    int32_t (*backward)(void* component, SwitchyardStableAttentionBackward* call); /* NULL: none */
} SwitchyardStableAttention;

typedef struct SwitchyardStableParameter {
    uint32_t struct_size;
    const char* name;
    AtenTensorHandle value;            /* updated in place */
    AtenTensorHandle gradient, master; /* may be NULL */
} SwitchyardStableParameter;

typedef struct SwitchyardStableGroup {
    uint32_t struct_size;
    const char* name;
    double lr, beta1, beta2, eps, weight_decay, momentum;
    int32_t nesterov;
    int64_t parameter_count;
    const SwitchyardStableParameter* const* parameters;
} SwitchyardStableGroup;

typedef struct SwitchyardStableOptimizerBind {
    uint32_t struct_size;
    int64_t group_count;
    const SwitchyardStableGroup* const* groups;
} SwitchyardStableOptimizerBind;

typedef struct SwitchyardStableOptimizerStep {
    uint32_t struct_size;
    int64_t group_count;
    const SwitchyardStableGroup* const* groups;
    double max_grad_norm, grad_scale;
    AtenTensorHandle grad_scale_tensor, lr_factor_tensor; /* may be NULL */
    AtenTensorHandle grad_norm, found_inf;                /* given, where the contract asks for them */
} SwitchyardStableOptimizerStep;

typedef struct SwitchyardStableStateEntry {
    uint32_t struct_size;
    const char* parameter;
    const char* key;
    AtenTensorHandle value;
} SwitchyardStableStateEntry;

typedef struct SwitchyardStableOptimizerState {
    uint32_t struct_size;
    SwitchyardStableState* state; /* for add_state */
    const char* algorithm;        /* given: a literal */
    int64_t step;                 /* given */
} SwitchyardStableOptimizerState;

typedef struct SwitchyardStableOptimizerLoad {
    uint32_t struct_size;
    const char* algorithm;
    int64_t step;
    int64_t entry_count;
    const SwitchyardStableStateEntry* const* entries;
} SwitchyardStableOptimizerLoad;

typedef struct SwitchyardStableOptimizer {
    uint32_t struct_size;
    int32_t (*bind)(void* component, const SwitchyardStableOptimizerBind* call);
    int32_t (*step)(void* component, SwitchyardStableOptimizerStep* call);
    int32_t (*state)(void* component, SwitchyardStableOptimizerState* call);
    int32_t (*load)(void* component, const SwitchyardStableOptimizerLoad* call);
} SwitchyardStableOptimizer;

/* ---- What a plugin exports ---- */

typedef struct SwitchyardStableComponent {
    uint32_t struct_size;
    const char* kind; /* "normalization", "linear", "attention", "optimizer" */
    const char* id;   /* unique among the plugin's components of that kind */
    /* Pure: touches no device. Callable without `create`, for a host that is only described. */
    int32_t (*supports)(const SwitchyardStableSupports* call);
    int32_t (*create)(SwitchyardStableCreate* call);
    void (*destroy)(void* component);
    const void* functions; /* SwitchyardStableNormalization, ... by the kind */
} SwitchyardStableComponent;

typedef struct SwitchyardStablePlugin {
    uint64_t magic;
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    uint32_t component_count;
    /* In the order of the manifest. */
    const SwitchyardStableComponent* const* components;
    /* Called once after loading, before anything else: there it keeps `services`. Returns a status. */
    int32_t (*init)(const SwitchyardStableServices* services);
} SwitchyardStablePlugin;

#ifdef __cplusplus
}
#endif

#endif
