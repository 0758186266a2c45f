/* Small things that a plugin of the stable tier in C does again and again, for tensors on the CPU. Each
 * function that returns a status has called `fail` where it is not 0. Handles that come back are the
 * caller's: switchyard_release.
 */
#ifndef SWITCHYARD_SDK_STABLE_H
#define SWITCHYARD_SDK_STABLE_H

#include <stddef.h>

#include <switchyard/interfaces/stable_abi.h>
#include <switchyard/interfaces/stable_tensor.h>

enum { switchyard_most_dimensions = 16 };

static inline void switchyard_release(AtenTensorHandle tensor) {
    if (tensor != NULL) aoti_torch_delete_tensor_object(tensor);
}

/* NULL for a tensor that is not there. */
static inline void* switchyard_data(AtenTensorHandle tensor) {
    void* data = NULL;
    if (tensor != NULL) aoti_torch_get_data_ptr(tensor, &data);
    return data;
}

static inline int64_t switchyard_size(AtenTensorHandle tensor, int64_t dimension) {
    int64_t count = 0, *sizes = NULL;
    aoti_torch_get_dim(tensor, &count);
    aoti_torch_get_sizes(tensor, &sizes);
    const int64_t at = dimension < 0 ? dimension + count : dimension;
    return at < 0 || at >= count ? 0 : sizes[at];
}

/* A new tensor, its values one after the other; dtype: aoti_torch_dtype_float32(), ... */
static inline int32_t switchyard_new(const SwitchyardStableServices* host, int64_t dimensions,
                                     const int64_t* sizes, int32_t dtype, AtenTensorHandle* result) {
    int64_t strides[switchyard_most_dimensions], stride = 1;
    if (dimensions > switchyard_most_dimensions) {
        host->fail("a tensor has more dimensions than this plugin takes");
        return 1;
    }
    for (int64_t d = dimensions - 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= sizes[d] > 0 ? sizes[d] : 1;
    }
    if (aoti_torch_empty_strided(dimensions, sizes, strides, dtype, aoti_torch_device_type_cpu(), 0,
                                 result) == 0)
        return 0;
    host->fail("there is no memory for a tensor");
    return 1;
}

/* A new tensor of the sizes and the dtype of another. */
static inline int32_t switchyard_new_like(const SwitchyardStableServices* host, AtenTensorHandle like,
                                          AtenTensorHandle* result) {
    int64_t dimensions = 0, *sizes = NULL;
    int32_t dtype = 0;
    if (aoti_torch_get_dim(like, &dimensions) == 0 && aoti_torch_get_sizes(like, &sizes) == 0 &&
        aoti_torch_get_dtype(like, &dtype) == 0)
        return switchyard_new(host, dimensions, sizes, dtype, result);
    host->fail("a tensor does not tell its sizes");
    return 1;
}

/* The same values one after the other: the tensor itself where they lie so, else a copy. NULL stays NULL. */
static inline int32_t switchyard_contiguous(const SwitchyardStableServices* host, AtenTensorHandle tensor,
                                            AtenTensorHandle* result) {
    bool already = false;
    if (tensor == NULL) return 0;
    if (aoti_torch_is_contiguous(tensor, &already) == 0 && already &&
        aoti_torch_new_tensor_handle(tensor, result) == 0)
        return 0;
    if (switchyard_new_like(host, tensor, result) != 0) return 1;
    if (aoti_torch_copy_(*result, tensor, 0) == 0) return 0;
    host->fail("a tensor cannot be copied");
    return 1;
}

#endif
