// What the components of the plugin aten serve, and what they keep away from. To add a case: the request with
// one thing changed, and the whole text.
#include <cstddef>
#include <string>

#include "cudnn.h"
#include "varlen.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

HostInfo host_with(int capability) {
    HostInfo host;
    DeviceInfo device;
    device.compute_capability = capability;
    host.devices.push_back(device);
    return host;
}

AttentionRequest padded() {
    AttentionRequest request;
    request.device = Device::cuda;
    request.dtype = DType::bfloat16;
    request.batch = {1, 8};
    request.q_length = request.kv_length = 192;
    request.needs_grad = true;
    return request;
}

AttentionRequest packed() {
    AttentionRequest request = padded();
    request.layout = Layout::packed;
    request.masks = {MaskKind::documents};
    request.q_length = request.kv_length = {0, 512};
    return request;
}

template <class Component>
std::string refusals(const AttentionRequest& request, int capability = 90) {
    std::string text;
    for (const auto& reason : Component::supports(request, host_with(capability), {}).reasons)
        text += reason.field + ": expected " + reason.expected + ", got " + reason.got + "\n";
    return text;
}
constexpr auto of_aten = &refusals<AtenVarlenAttention>;
constexpr auto of_cudnn = &refusals<CudnnAttention>;

}  // namespace

TEST_CASE("packed sequences are served, causal and with a window, empty ones too") {
    AttentionRequest request = packed();
    CHECK(of_aten(request, 80) == "");
    request.masks = {MaskKind::documents, MaskKind::causal, MaskKind::sliding_window};
    request.heads = 8;
    request.kv_heads = 2;
    request.dropout = 0.1;
    CHECK(of_aten(request, 90) == "");
}

TEST_CASE(
    "LibTorch's flash attention has neither biases nor padding, and its gradients are not deterministic") {
    AttentionRequest request = padded();
    request.masks = {MaskKind::alibi};
    request.deterministic = true;
    CHECK(
        of_aten(request, 90) ==
        "deterministic: expected false with gradients (backward adds atomically), got true\n"
        "layout: expected packed (for padded batches take torch, which calls the same kernels), got padded\n"
        "masks: expected causal, documents, sliding_window, got alibi\n");
    request = packed();
    request.head_dim = request.v_head_dim = 256;
    CHECK(of_aten(request, 80) == "");
    CHECK(
        of_aten(request, 86) ==
        "head_dim: expected at most 192 with gradients on devices of 8.6 and 8.9 (shared memory), got 256\n");
}

TEST_CASE("cuDNN is asked for what it does right: no mask, or causal with as many queries as keys") {
    AttentionRequest request = padded();
    CHECK(of_cudnn(request, 90) == "");
    request.masks = {MaskKind::causal};
    CHECK(of_cudnn(request, 90) == "");
    request.query_offsets = true;
    CHECK(of_cudnn(request, 90) ==
          "query_offsets: expected false if causal (the first query stands at the first key), got true\n");
    request.masks = {};
    CHECK(of_cudnn(request, 90) == "");  // where queries stand does not matter without a mask
    request = padded();
    request.custom_scale = request.want_lse = true;
    CHECK(of_cudnn(request, 90) == "");
    request.masks = {MaskKind::causal};
    request.q_length = 10;
    CHECK(of_cudnn(request, 90) == "q_length: expected one length, that of the keys, if causal, got 10\n");
    request = padded();
    request.masks = {MaskKind::key_lengths};
    CHECK(of_cudnn(request, 90) ==
          "masks: expected none or causal (a mask tensor gives wrong gradients at some lengths), got "
          "key_lengths\n");
    request = padded();
    request.q_length = 1;
    CHECK(of_cudnn(request, 90) ==
          "q_length: expected at least 2 queries and keys of at least one sequence, got 1\n");
    request = padded();
    request.dropout = 0.1;
    CHECK(of_cudnn(request, 90) == "");
    request.kv_length = 100;
    CHECK(of_cudnn(request, 90) ==
          "dropout: expected 0 unless the number of keys is a multiple of 64, got 0.1\n");
}

TEST_CASE("neither serves a CPU, an older device, other dtypes, or pages") {
    AttentionRequest request;
    request.head_dim = request.v_head_dim = 20;
    request.paged_cache = true;
    const std::string common =
        "device: expected cuda, on a host that has such a device, got cpu\n"
        "compute_capability: expected 8.0 or newer, got 7.5\n"
        "dtype: expected bfloat16 or float16, got float32\n";
    const std::string rest = "paged_cache: expected false (keys and values lie end to end), got true\n";
    CHECK(of_aten(request, 75) == common + "head_dim: expected one multiple of 8, from 8 to 256, got 20\n" +
                                      rest +
                                      "layout: expected packed (for padded batches take torch, which calls "
                                      "the same kernels), got padded\n");
    CHECK(of_cudnn(request, 75) ==
          common + "head_dim: expected one multiple of 8, from 8 to 128, got 20\n" + rest +
              "q_length: expected at least 2 queries and keys of at least one sequence, got 1\n");
}
