// Times attention of the plugin flash on a CUDA device against LibTorch's _flash_attention_forward and _backward in one process, call after call in turn: the medians of events on the device, and
// their ratio. Usage: gpu_timing [PLUGIN_LIBRARY]; by default the one of this build.
//
// Work is counted as in Dao 2023 (arXiv:2307.08691, section 4.1): 4 B H N M D for forward, 2.5 times that for backward, half if causal.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/randn.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <switchyard/host/calling/component_handle.h>
#include <switchyard/host/calling/plugin_library.h>
#include <switchyard/host/calling/services.h>
#include <switchyard/host/discovery/discovery.h>
#include <switchyard/host/machine/host_info.h>
#include <switchyard/host/machine/libtorch_cuda.h>
#include <switchyard/interfaces/attention.h>

using namespace switchyard;

namespace {

struct Shape {
    std::int64_t batch, heads, length, dim;
    bool causal;
};
// 16 K tokens each, as in the paper's figures.
constexpr Shape shapes[] = {{32, 32, 512, 64, false},  {32, 32, 512, 64, true},  {8, 32, 2048, 64, true},
                            {8, 16, 2048, 128, false}, {8, 16, 2048, 128, true}, {2, 16, 8192, 128, false},
                            {2, 16, 8192, 128, true},  {2, 8, 8192, 256, false}};

void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

class Event {
public:
    Event() { check(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() { check(cudaEventRecord(event_, c10::cuda::getCurrentCUDAStream().stream())); }
    double milliseconds_since(const Event& begin) const {
        check(cudaEventSynchronize(event_));
        float ms = 0.0F;
        check(cudaEventElapsedTime(&ms, begin.event_, event_));
        return ms;
    }

private:
    cudaEvent_t event_ = nullptr;
};

double time_once(const std::function<void()>& call) {
    Event begin, end;
    begin.record();
    call();
    end.record();
    return end.milliseconds_since(begin);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

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

void run(const host::LoadedComponent& flash, const HostInfo& host, const Shape& s) {
    AttentionRequest request;
    request.device = Device::cuda;
    request.dtype = DType::bfloat16;
    request.needs_grad = true;
    request.head_dim = request.v_head_dim = s.dim;
    if (s.causal) request.masks.insert(MaskKind::causal);
    host::ExecutionCounter counter;
    CreateInfo info;
    info.request = &request;
    info.options.set("untried_device", true);
    info.host = &host;
    info.services = host::services();
    info.token = &counter;
    const auto attention = host::create<Attention>(flash, info);

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

host::LoadedComponent load(host::Registry& registry) {
    for (const auto& record : registry.records()) {
        for (const auto& one : registry.load(record)) {
            if (one.manifest->kind == Kind::attention && one.manifest->id == "flash") return one;
        }
        if (const auto* failure = record.failure()) throw std::runtime_error(failure->reason);
    }
    throw std::runtime_error("there is no attention called flash in this library");
}

}  // namespace

int main(int count, char** arguments) try {
    if (const auto error = host::load_libtorch_cuda(); !error.empty()) throw std::runtime_error(error);
    const HostInfo host = host::this_host(host::Look::with_devices);
    const DeviceInfo* const device = host.first(Device::cuda);
    if (device == nullptr) throw std::runtime_error("this machine has no CUDA device");
    std::printf("%s, LibTorch %s; medians of 20, in turn; the last column is LibTorch's time over flash's\n",
                device->name.c_str(), host.libtorch_version.c_str());
    host::DiscoveryOptions options;
    options.run_probes = false;
    options.path.entries = {
        {count > 1 ? arguments[1] : "build-gpu/lib/switchyard/plugins/libflash.so", "given", true}};
    host::Registry registry(host::discover(options, host));
    const at::NoGradGuard no_grad;
    const auto flash = load(registry);
    for (const Shape& shape : shapes) run(flash, host, shape);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_timing: %s\n", error.what());
    return 1;
}
