/* A plugin of the stable tier: LayerNorm and RMSNorm in float32 on the CPU. The contract is stable_abi.h;
 * what the operation means is in normalization.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <switchyard/interfaces/stable_abi.h>
#include <switchyard/interfaces/stable_tensor.h>

#include "norm_kernel.h"

/* The host's functions, there from `init` on. */
static const SwitchyardStableServices* host;

/* ---- What it serves ---- */

static int32_t supports(const SwitchyardStableSupports* call) {
    const SwitchyardStableNormalizationRequest* request = call->request;
    SwitchyardStableVerdict* verdict = call->verdict;
    if (call->common->device != SWITCHYARD_CPU)
        host->reject(verdict, SWITCHYARD_CODE_DEVICE, "device", "cpu",
                     host->device_name(call->common->device));
    if (call->common->dtype != SWITCHYARD_FLOAT32)
        host->reject(verdict, SWITCHYARD_CODE_DTYPE, "dtype", "float32",
                     host->dtype_name(call->common->dtype));
    if (request->parameter_dtype != SWITCHYARD_FLOAT32)
        host->reject(verdict, SWITCHYARD_CODE_DTYPE, "parameter_dtype", "float32",
                     host->dtype_name(request->parameter_dtype));
    if (request->norm != SWITCHYARD_LAYER_NORM && request->norm != SWITCHYARD_RMS_NORM)
        host->reject(verdict, SWITCHYARD_CODE_ALGORITHM, "norm", "layer_norm or rms_norm", "another norm");
    /* What is left out here the host does before the call. */
    if (request->input_bias)
        host->reject(verdict, SWITCHYARD_CODE_FUSION, "input_bias", "no bias before the normalization",
                     "true");
    if (request->residual)
        host->reject(verdict, SWITCHYARD_CODE_FUSION, "residual", "no residual before the normalization",
                     "true");
    if (request->dropout > 0.0) host->reject(verdict, SWITCHYARD_CODE_DROPOUT, "dropout", "0", "more");
    return 0;
}

/* ---- A component: one for each binding ---- */

typedef struct Norm {
    void* token;
    int64_t grain; /* rows that one thread takes at a time, at least */
} Norm;

static int32_t create(SwitchyardStableCreate* call) {
    Norm* norm = malloc(sizeof(Norm));
    if (norm == NULL) {
        host->fail("there is no memory for a component");
        return 1;
    }
    norm->token = call->token;
    if (host->option_integer(call->options, "grain", &norm->grain) != 0) {
        free(norm);
        return 1;
    }
    call->component = norm;
    return 0;
}

static void destroy(void* component) { free(component); }

/* ---- Tensors ---- */

static int32_t torch_failed(const char* what) {
    host->fail(what);
    return 1;
}

/* An owned handle of the same values, one after the other. */
static int32_t contiguous(AtenTensorHandle tensor, AtenTensorHandle* result) {
    bool already = false;
    int64_t dimensions = 0, *sizes = NULL;
    int32_t dtype = 0;
    if (aoti_torch_is_contiguous(tensor, &already) != 0)
        return torch_failed("a tensor does not say how it lies");
    if (already) return aoti_torch_new_tensor_handle(tensor, result);
    if (aoti_torch_get_dim(tensor, &dimensions) != 0 || aoti_torch_get_sizes(tensor, &sizes) != 0 ||
        aoti_torch_get_dtype(tensor, &dtype) != 0 || dimensions > 16)
        return torch_failed("a tensor has no sizes that can be used");
    int64_t strides[16], stride = 1;
    for (int64_t d = dimensions - 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= sizes[d] > 0 ? sizes[d] : 1;
    }
    if (aoti_torch_empty_strided(dimensions, sizes, strides, dtype, aoti_torch_device_type_cpu(), 0,
                                 result) != 0)
        return torch_failed("there is no memory for a tensor");
    if (aoti_torch_copy_(*result, tensor, 0) != 0) return torch_failed("a tensor cannot be copied");
    return 0;
}

/* An owned handle of a new tensor of the sizes of `like`, float32 and contiguous. */
static int32_t new_like(AtenTensorHandle like, AtenTensorHandle* result) {
    int64_t dimensions = 0, *sizes = NULL, strides[16], stride = 1;
    if (aoti_torch_get_dim(like, &dimensions) != 0 || aoti_torch_get_sizes(like, &sizes) != 0 ||
        dimensions > 16)
        return torch_failed("a tensor has no sizes that can be used");
    for (int64_t d = dimensions - 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= sizes[d] > 0 ? sizes[d] : 1;
    }
    if (aoti_torch_empty_strided(dimensions, sizes, strides, aoti_torch_dtype_float32(),
                                 aoti_torch_device_type_cpu(), 0, result) != 0)
        return torch_failed("there is no memory for a tensor");
    return 0;
}

static int32_t new_statistics(int64_t rows, AtenTensorHandle* result) {
    const int64_t sizes[2] = {rows, 2}, strides[2] = {2, 1};
    if (aoti_torch_empty_strided(2, sizes, strides, aoti_torch_dtype_float64(), aoti_torch_device_type_cpu(),
                                 0, result) != 0)
        return torch_failed("there is no memory for the statistics");
    return 0;
}

static void* data_of(AtenTensorHandle tensor) {
    void* data = NULL;
    if (tensor != NULL) aoti_torch_get_data_ptr(tensor, &data);
    return data;
}

static void release(AtenTensorHandle tensor) {
    if (tensor != NULL) aoti_torch_delete_tensor_object(tensor);
}

static NormShape shape_of(AtenTensorHandle x, int32_t norm, double eps) {
    NormShape shape = {0, 0, norm == SWITCHYARD_LAYER_NORM, eps};
    int64_t dimensions = 0, values = 0, *sizes = NULL;
    aoti_torch_get_dim(x, &dimensions);
    aoti_torch_get_numel(x, &values);
    aoti_torch_get_sizes(x, &sizes);
    shape.width = dimensions > 0 ? sizes[dimensions - 1] : 0;
    shape.rows = shape.width > 0 ? values / shape.width : 0;
    return shape;
}

/* ---- Forward ---- */

typedef struct Work {
    NormShape shape;
    const float *x, *weight, *beta, *grad_y;
    float *y, *grad_x, *grad_weight, *grad_beta;
    double* statistics;
} Work;

static void forward_rows(void* context, int64_t first, int64_t last) {
    const Work* w = context;
    norm_forward(&w->shape, w->x, w->weight, w->beta, w->y, w->statistics, first, last);
}

static int32_t forward(void* component, SwitchyardStableNormalizationForward* call) {
    const Norm* norm = component;
    AtenTensorHandle x = NULL, weight = NULL, beta = NULL, statistics = NULL;
    Work work = {.shape = shape_of(call->x, call->norm, call->eps)};
    int32_t status = contiguous(call->x, &x);
    if (status == 0) status = contiguous(call->weight, &weight);
    if (status == 0 && call->beta != NULL) status = contiguous(call->beta, &beta);
    if (status == 0) status = new_like(call->x, &call->y);
    if (status == 0 && call->saved != NULL) status = new_statistics(work.shape.rows, &statistics);
    if (status == 0) {
        work.x = data_of(x);
        work.weight = data_of(weight);
        work.beta = data_of(beta);
        work.y = data_of(call->y);
        work.statistics = data_of(statistics);
        host->executed(norm->token, "");
        host->parallel_for(0, work.shape.rows, norm->grain, forward_rows, &work);
    }
    if (status == 0 && call->saved != NULL) {
        status = host->save(call->saved, call->x, SWITCHYARD_SAVED_INPUT);
        if (status == 0) status = host->save(call->saved, call->weight, SWITCHYARD_SAVED_INPUT);
        if (status == 0) status = host->save(call->saved, statistics, SWITCHYARD_SAVED_EXTRA);
    }
    release(x);
    release(weight);
    release(beta);
    release(statistics);
    return status;
}

/* ---- Backward ---- */

static void input_gradient_rows(void* context, int64_t first, int64_t last) {
    const Work* w = context;
    norm_input_gradient(&w->shape, w->x, w->weight, w->grad_y, w->statistics, w->grad_x, first, last);
}

static void row_gradient_columns(void* context, int64_t first, int64_t last) {
    const Work* w = context;
    norm_row_gradients(&w->shape, w->x, w->grad_y, w->statistics, w->grad_weight, w->grad_beta, first, last);
}

static int32_t backward(void* component, SwitchyardStableNormalizationBackward* call) {
    const Norm* norm = component;
    AtenTensorHandle saved_x = NULL, saved_weight = NULL, statistics = NULL;
    if (host->saved_tensor(call->saved, 0, &saved_x) != 0 ||
        host->saved_tensor(call->saved, 1, &saved_weight) != 0 ||
        host->saved_tensor(call->saved, 2, &statistics) != 0)
        return 1;
    Work work = {.shape = shape_of(saved_x, call->norm, call->eps)};
    AtenTensorHandle x = NULL, weight = NULL, grad_y = NULL;
    int32_t status = contiguous(saved_x, &x);
    if (status == 0) status = contiguous(saved_weight, &weight);
    if (status == 0) status = contiguous(call->grad_y, &grad_y);
    if (status == 0 && call->needs_x) status = new_like(saved_x, &call->x);
    if (status == 0 && call->needs_weight) status = new_like(saved_weight, &call->weight);
    if (status == 0 && call->needs_beta) status = new_like(saved_weight, &call->beta);
    if (status == 0) {
        work.x = data_of(x);
        work.weight = data_of(weight);
        work.grad_y = data_of(grad_y);
        work.statistics = data_of(statistics);
        work.grad_x = data_of(call->x);
        work.grad_weight = data_of(call->weight);
        work.grad_beta = data_of(call->beta);
        if (call->needs_x) host->parallel_for(0, work.shape.rows, norm->grain, input_gradient_rows, &work);
        if (call->needs_weight || call->needs_beta)
            host->parallel_for(0, work.shape.width, norm->grain, row_gradient_columns, &work);
    }
    release(x);
    release(weight);
    release(grad_y);
    return status;
}

/* ---- What the plugin exports ---- */

static const SwitchyardStableNormalization functions = {sizeof(functions), forward, backward};

static const SwitchyardStableComponent norm = {.struct_size = sizeof(norm),
                                               .kind = "normalization",
                                               .id = "stable_c",
                                               .supports = supports,
                                               .create = create,
                                               .destroy = destroy,
                                               .functions = &functions};

static const SwitchyardStableComponent* const components[] = {&norm};

static int32_t init(const SwitchyardStableServices* services) {
    host = services;
    return 0;
}

extern const SwitchyardStablePlugin switchyard_stable_plugin_v1;
SWITCHYARD_STABLE_EXPORT const SwitchyardStablePlugin switchyard_stable_plugin_v1 = {
    .magic = SWITCHYARD_STABLE_MAGIC,
    .struct_size = sizeof(SwitchyardStablePlugin),
    .abi_major = SWITCHYARD_STABLE_ABI_MAJOR,
    .abi_minor = SWITCHYARD_STABLE_ABI_MINOR,
    .component_count = 1,
    .components = components,
    .init = init};
