// Where a component on a CUDA device runs: LibTorch's current stream. For sources of a plugin's CUDA part
// (CUDA_WRAPPERS) and nothing else. Since 1.0.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::device {

class CudaQueues {
public:
    Queue of(c10::DeviceIndex device) {
        if (device != known_device_) {
            C10_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount,
                                                  static_cast<int>(device)));
            known_device_ = device;
        }
        Queue queue;
        const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device).stream();
        queue.stream = stream;
        queue.multiprocessors = multiprocessors_;
        queue.pins = true;
        auto capture = cudaStreamCaptureStatusNone;
        C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &capture));
        queue.capturing = capture != cudaStreamCaptureStatusNone;
        queue.copy = [](void* to, const void* from, std::size_t bytes, void* on) {
            C10_CUDA_CHECK(
                cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(on)));
        };
        return queue;
    }

private:
    c10::DeviceIndex known_device_ = -1;
    int multiprocessors_ = 1;
};

}  // namespace switchyard::device
