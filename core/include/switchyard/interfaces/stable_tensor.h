/* What a plugin of the stable tier in C calls of LibTorch: functions of its C shim, which LibTorch keeps from
 * release to release (torch/csrc/inductor/aoti_torch/c/shim.h, which only a C++ compiler can read). They are
 * found in the host when the plugin is loaded; nothing is linked. A test holds these declarations against
 * LibTorch's own.
 *
 * Each returns 0 if it went well. Handles that come back through `result` are new:
 * aoti_torch_delete_tensor_object gives them back. Sizes and strides are borrowed from the tensor, strides in
 * elements.
 */
#ifndef SWITCHYARD_STABLE_TENSOR_H
#define SWITCHYARD_STABLE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include <switchyard/interfaces/stable_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

int32_t aoti_torch_device_type_cpu(void);
int32_t aoti_torch_device_type_cuda(void);

int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_dtype_float64(void);
int32_t aoti_torch_dtype_bfloat16(void);
int32_t aoti_torch_dtype_float16(void);
int32_t aoti_torch_dtype_int64(void);
int32_t aoti_torch_dtype_int32(void);
int32_t aoti_torch_dtype_int8(void);
int32_t aoti_torch_dtype_uint8(void);
int32_t aoti_torch_dtype_bool(void);

int32_t aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** result);
int32_t aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* result);
int32_t aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* result);
int32_t aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** result);
int32_t aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** result);
int32_t aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* result);
int32_t aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* result);
int32_t aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* result);
int32_t aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* result);
int32_t aoti_torch_layout_strided(void);
int32_t aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* result);

int32_t aoti_torch_new_tensor_handle(AtenTensorHandle tensor, AtenTensorHandle* result);
int32_t aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
int32_t aoti_torch_empty_strided(int64_t dimensions, const int64_t* sizes, const int64_t* strides,
                                 int32_t dtype, int32_t device_type, int32_t device_index,
                                 AtenTensorHandle* result);
int32_t aoti_torch_clone(AtenTensorHandle tensor, AtenTensorHandle* result);
int32_t aoti_torch_copy_(AtenTensorHandle to, AtenTensorHandle from, int32_t non_blocking);
int32_t aoti_torch_zero_(AtenTensorHandle tensor);
int32_t aoti_torch__reinterpret_tensor(AtenTensorHandle tensor, int64_t dimensions, const int64_t* sizes,
                                       const int64_t* strides, int64_t storage_offset,
                                       AtenTensorHandle* result);

#ifdef __cplusplus
}
#endif

#endif
