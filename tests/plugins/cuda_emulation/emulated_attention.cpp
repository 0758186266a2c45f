#include "emulated_attention.h"

#include "requests.h"

#include <local_component.h>

namespace switchyard::test {
namespace {

const auto component =
    local_component<Kind::attention, EmulatedAttention>(GradientMode::kernel, RandomSource::counter);

// With many multiprocessors short caches are split, too.
constexpr flash_cuda::Queue queue{nullptr, 8};

}  // namespace

Verdict EmulatedAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    AttentionRequest on_cuda = request;
    on_cuda.device = Device::cuda;
    return flash_cuda::judge_on_cuda(on_cuda, host, true);
}

AttentionOutputs EmulatedAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                            Saved* saved) {
    executed();
    return device_.forward(inputs, params, saved, queue);
}

AttentionGrads EmulatedAttention::backward(const AttentionParams& params, const Saved& saved,
                                           const at::Tensor& grad_out, const AttentionNeeds& needs) {
    return device_.backward(params, saved, grad_out, needs, queue);
}

const HostInfo& emulated_host() {
    static const HostInfo host = [] {
        HostInfo made;
        made.name = "emulated";
        made.described = true;
        DeviceInfo device;
        device.compute_capability = 90;
        device.shared_memory_per_block_bytes = 227 * 1024;
        made.devices.push_back(device);
        return made;
    }();
    return host;
}

conformance::ComponentUnderTest emulated_attention() { return component.under_test(emulated_host()); }

}  // namespace switchyard::test
