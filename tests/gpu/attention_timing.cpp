// Times attention of the plugin flash on a CUDA device against LibTorch's _flash_attention_forward and
// _backward in one process, call after call in turn: the medians of events on the device, and their ratio.
// Usage: gpu_timing [PLUGIN_LIBRARY]; by default the one of this build.
//
// Work is counted as in Dao 2023 (arXiv:2307.08691, section 4.1): 4 B H N M D for forward, 2.5 times that for
// backward, half if causal.
#include <cstdio>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/randn.h>
#include <switchyard/interfaces/attention.h>

#include "timing.h"

using namespace switchyard;
using namespace switchyard::gpu;

namespace {

struct Shape {
    std::int64_t batch, heads, length, dim;
    bool causal;
};
// 16 K tokens each, as in the paper's figures.
constexpr Shape shapes[] = {{32, 32, 512, 64, false},  {32, 32, 512, 64, true},  {8, 32, 2048, 64, true},
                            {8, 16, 2048, 128, false}, {8, 16, 2048, 128, true}, {2, 16, 8192, 128, false},
                            {2, 16, 8192, 128, true},  {2, 8, 8192, 256, false}};

void compare(const char* what, const Shape& s, double work, const std::function<void()>& own,
             const std::function<void()>& base) {
    for (int i = 0; i < 3; ++i) {  // libraries, caches and clocks
        own();
        base();
    }
    std::vector<double> own_ms, base_ms;
    for (int i = 0; i < 20; ++i) {
        own_ms.push_back(time_once(own));
        base_ms.push_back(time_once(base));
    }
    const double a = median(own_ms), b = median(base_ms);
    std::printf(
        "%-8s B%ld H%ld N%ld D%ld %-6s  flash %8.3f ms %6.1f TFLOP/s   LibTorch %8.3f ms %6.1f TFLOP/s   "
        "%.3f\n",
        what, s.batch, s.heads, s.length, s.dim, s.causal ? "causal" : "", a, work / a * 1e-9, b,
        work / b * 1e-9, b / a);
}

void run(const runtime::LoadedComponent& flash, const HostInfo& host, const Shape& s) {
    AttentionRequest request;
    request.device = Device::cuda;
    request.dtype = DType::bfloat16;
    request.needs_grad = true;
    request.head_dim = request.v_head_dim = s.dim;
    if (s.causal) request.masks.insert(MaskKind::causal);
    runtime::ExecutionCounter counter;
    CreateInfo info;
    info.request = &request;

    info.host = &host;
    info.services = runtime::services();
    info.token = &counter;
    const auto attention = runtime::create<Attention>(flash, info);

    // [B, N, H, D] in memory for both: what projections leave.
    const auto make = [&] {
        return at::randn({s.batch, s.length, s.heads, s.dim},
                         at::TensorOptions().dtype(at::kBFloat16).device(at::kCUDA));
    };
    const at::Tensor q = make(), k = make(), v = make(), grad = make();
    const AttentionInputs inputs{q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {}, {}};
    AttentionParams params;
    params.mask.kinds = request.masks;
    Saved saved;
    attention->forward(inputs, params, &saved);
    const auto library = [&] {
        return at::_flash_attention_forward(q, k, v, {}, {}, s.length, s.length, 0.0, s.causal, false);
    };
    const auto [out, lse, rng_state, unused, debug] = library();
    const double work =
        4.0 * static_cast<double>(s.batch * s.heads * s.length * s.length * s.dim) * (s.causal ? 0.5 : 1.0);
    compare(
        "forward", s, work, [&] { attention->forward(inputs, params, nullptr); }, [&] { library(); });
    compare(
        "backward", s, 2.5 * work, [&] { attention->backward(params, saved, grad.transpose(1, 2), {}); },
        [&, &out = out, &lse = lse, &rng = rng_state, &unused = unused] {
            at::_flash_attention_backward(grad, q, k, v, out, lse, {}, {}, s.length, s.length, 0.0, s.causal,
                                          rng, unused);
        });
}

}  // namespace

int main(int count, char** arguments) try {
    const HostInfo host = host_with_device();
    std::printf("%s, LibTorch %s; medians of 20, in turn; the last column is LibTorch's time over flash's\n",
                host.first(Device::cuda)->name.c_str(), host.libtorch_version.c_str());
    runtime::Registry registry =
        plugin_at(count > 1 ? arguments[1] : "build-gpu/lib/switchyard/plugins/libflash.so", host);
    const at::NoGradGuard no_grad;
    const auto flash = component_of(registry, Kind::attention, "flash");
    for (const Shape& shape : shapes) run(flash, host, shape);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_timing: %s\n", error.what());
    return 1;
}
