// An attention call of the contract (<switchyard/interfaces/attention.h>) as launches of the kernels in this
// folder.
// LibTorch on one side, no CUDA header on the other: where a stream comes from is the caller's, so the same
// code runs with the kernels emulated.
#pragma once

#include <vector>

#include <switchyard/interfaces/attention.h>
#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::flash_cuda {

using switchyard::device::Queue;

// What depends on a relative-bias table's shape and bucketing alone, kept from call to call.
struct DistanceBuckets {
    std::int64_t buckets = -1, max_distance = -1;
    bool bidirectional = false;
    at::Tensor bucket;   // int64 [2 reach + 1], on the device
    at::Tensor one_hot;  // float64 [buckets, 2 reach + 1]
    std::int64_t reach = 0;
};

// cu_seqlens that were read last: reading waits for the device, and all layers of a model have the same.
struct KnownOffsets {
    at::Tensor given, on_cpu;
    std::int64_t version = -1;
    std::int64_t longest = 0;

    // Reads `cu_seqlens` unless it is the tensor that was read last, unchanged since.
    void follow(const at::Tensor& cu_seqlens);
};

// Used from one thread at a time, like the component that has it.
class AttentionOnDevice {
public:
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params, Saved* saved,
                             const Queue& queue);
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs, const Queue& queue);

private:
    struct Call;

    void check(const AttentionInputs& inputs, const AttentionParams& params);
    Call describe(const AttentionInputs& inputs, const AttentionParams& params, std::int64_t longest_q,
                  std::int64_t longest_k);
    static at::Tensor add_dense_gradient(Call& call, const at::Tensor& bias);
    static void add_pages(Call& call, const AttentionParams& params, const at::Tensor& q);
    void add_relative_bias(Call& call, const at::Tensor& table, const AttentionMask& mask);
    const DistanceBuckets& distances_of(const at::Tensor& table, const AttentionMask& mask);

    DistanceBuckets distances_;
    KnownOffsets q_offsets_, k_offsets_;
};

}  // namespace switchyard::flash_cuda
