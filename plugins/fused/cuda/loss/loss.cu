#include "cross_entropy.h"

namespace switchyard::fused_cuda {
namespace {

template <template <class> class Kernel>
void launch_for(const LossCall& call, void* stream) {
    const device::Launch geometry{call.rows, loss_threads, loss_shared_bytes};
    device::with_storage(
        call.storage, [&](auto type) { device::launch(Kernel<decltype(type)>{{call}}, geometry, stream); });
}

}  // namespace

void launch_summaries(const LossCall& call, void* stream) { launch_for<SummaryKernel>(call, stream); }
void launch_gradients(const LossCall& call, void* stream) { launch_for<GradientKernel>(call, stream); }
void launch_loss_sum(const LossSum& call, void* stream) {
    device::launch(LossSumKernel{call}, {1, loss_threads, loss_shared_bytes}, stream);
}

}  // namespace switchyard::fused_cuda
