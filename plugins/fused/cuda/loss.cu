#include "cross_entropy.h"

namespace switchyard::fused_cuda {
namespace {

template <template <class> class Kernel>
void launch_for(const LossCall& call, void* stream) {
    const device::Launch geometry{call.rows, loss_threads, loss_shared_bytes};
    switch (call.storage) {
        case device::Storage::float32:
            return device::launch(Kernel<float>{{call}}, geometry, stream);
        case device::Storage::bf16:
            return device::launch(Kernel<device::Bf16>{{call}}, geometry, stream);
        case device::Storage::fp16:
            return device::launch(Kernel<device::Fp16>{{call}}, geometry, stream);
    }
}

}  // namespace

void launch_summaries(const LossCall& call, void* stream) { launch_for<SummaryKernel>(call, stream); }
void launch_gradients(const LossCall& call, void* stream) { launch_for<GradientKernel>(call, stream); }
void launch_loss_sum(const LossSum& call, void* stream) {
    device::launch(LossSumKernel{call}, {1, loss_threads, loss_shared_bytes}, stream);
}

}  // namespace switchyard::fused_cuda
