// How launches are laid out, and which requests are served on which device: pure functions, no device and no
// emulator. To add a case: a shape, and what it needs.
#include "requests.h"
#include "tiles.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::flash_cuda;

namespace {

AttentionRequest request() {
    AttentionRequest one;
    one.device = Device::cuda;
    one.dtype = DType::bfloat16;
    return one;
}

HostInfo host_with(int capability, std::int64_t shared_bytes, bool described = true) {
    HostInfo host;
    host.described = described;
    DeviceInfo device;
    device.compute_capability = capability;
    device.shared_memory_per_block_bytes = shared_bytes;
    host.devices.push_back(device);
    return host;
}

constexpr std::int64_t a100 = 166912, h100 = 232448, smallest = 101376;  // the last: 8.6 and 8.9

std::string refusals(const AttentionRequest& asked, const HostInfo& host, bool built = true) {
    std::string text;
    for (const auto& reason : judge_on_cuda(asked, host, built).reasons)
        text += reason.field + ": expected " + reason.expected + ", got " + reason.got + "\n";
    return text;
}

}  // namespace

TEST_CASE("head sizes are padded to those that kernels are compiled for") {
    CHECK(padded_dim(8, 8) == 64);
    CHECK(padded_dim(64, 64) == 64);
    CHECK(padded_dim(64, 72) == 128);
    CHECK(padded_dim(129, 8) == 256);
    CHECK(padded_dim(264, 8) == 0);
}

TEST_CASE("blocks cover the last query and key, and no more") {
    CHECK(forward_launch({2, 3, 3, 128, 9, 64}, false).blocks == 6);
    CHECK(forward_launch({2, 3, 3, 129, 9, 64}, false).blocks == 12);
    CHECK(forward_launch({2, 3, 3, 129, 9, 64}, true).blocks == 18);
    CHECK(forward_launch({2, 3, 3, 129, 9, 256}, false).blocks == 18);
    CHECK(query_pass_launch({1, 2, 1, 65, 9, 128}, false).blocks == 4);
    CHECK(key_pass_launch({1, 2, 1, 65, 65, 128}).blocks == 2);
    CHECK(key_pass_launch({1, 2, 1, 65, 65, 256}).blocks == 4);  // two halves of the columns
    CHECK(delta_launch({1, 2, 1, 8, 8, 64}, 64).blocks == 1);    // 16 rows of 8 threads
    CHECK(delta_launch({1, 2, 1, 9, 8, 64}, 64).blocks == 2);
    CHECK(delta_launch({1, 2, 1, 9, 8, 256}, 200).blocks == 5);  // 25 chunks take 32 threads
    CHECK(forward_launch({0, 3, 3, 128, 9, 64}, false).blocks == 0);
    CHECK(key_pass_launch({2, 3, 3, 128, 0, 64}).blocks == 0);
}

TEST_CASE("a batch of many sequences does not meet the limits of a grid's second dimension") {
    CHECK(forward_launch({70000, 32, 8, 1, 1, 64}, false).blocks == 70000 * 32);
}

TEST_CASE("shared memory is what the tiles take, and fits") {
    CHECK(forward_launch({1, 1, 1, 1, 1, 128}, false).shared_bytes == 64 * 1024);
    CHECK(most_shared_bytes(64, true, true) <= 48 * 1024 + 16 * 1024);
    CHECK(most_shared_bytes(128, true, true) <= static_cast<std::size_t>(smallest));
    CHECK(most_shared_bytes(256, true, true) <= static_cast<std::size_t>(a100));
}

TEST_CASE("few queries against many keys are a decoding step, split until the device is full") {
    CHECK(is_decoding({1, 8, 8, 1, 500, 64}));
    CHECK(is_decoding({1, 32, 2, 1, 500, 64}));
    CHECK_FALSE(is_decoding({1, 32, 2, 2, 500, 64}));
    CHECK_FALSE(is_decoding({1, 8, 8, 1, 0, 64}));
    CHECK(decode_splits({1, 8, 8, 1, 8192, 64}, 132) == 33);
    CHECK(decode_splits({64, 8, 8, 1, 8192, 64}, 132) == 1);
    CHECK(decode_splits({1, 8, 8, 1, 256, 64}, 132) == 2);  // two tiles each
    CHECK(decode_splits({1, 8, 8, 1, 1, 64}, 132) == 1);
    CHECK(decode_splits({1, 1, 1, 1, 1 << 20, 64}, 132) == 128);
}

TEST_CASE("a plain request is served on Ampere and Hopper, described or real") {
    CHECK(refusals(request(), host_with(80, a100)) == "");
    CHECK(refusals(request(), host_with(89, smallest)) == "");
    CHECK(refusals(request(), host_with(90, h100, false)) == "");
    CHECK(refusals(request(), host_with(90, 0)) == "");
}

TEST_CASE("all reasons come at once") {
    AttentionRequest asked = request();
    asked.dtype = DType::float32;
    asked.head_dim = 20;
    asked.v_head_dim = 512;
    asked.paged_cache = asked.needs_grad = true;
    CHECK(refusals(asked, host_with(100, h100)) ==
          "dtype: expected bfloat16 or float16 on cuda, got float32\n"
          "head_dim: expected one multiple of 8, from 8 to 256, on cuda, got 20\n"
          "v_head_dim: expected one multiple of 8, from 8 to 256, on cuda, got 512\n"
          "needs_grad: expected false with a paged cache, got true\n"
          "compute_capability: expected 8.0 to 8.9, or 9.0, got 10.0\n");
}

TEST_CASE("a device that is not there, a plugin without its CUDA part, too little shared memory") {
    CHECK(refusals(request(), HostInfo{}) ==
          "device: expected cpu, or cuda on a host that has such a device, got cuda\n");
    CHECK(refusals(request(), host_with(90, h100, false), false) ==
          "cuda: expected a plugin built with nvcc, got built without\n");
    CHECK(refusals(request(), host_with(90, h100, true), false) == "");
    AttentionRequest wide = request();
    wide.head_dim = wide.v_head_dim = 256;
    CHECK(refusals(wide, host_with(86, smallest)) ==
          "shared_memory_per_block: expected at least 139264 bytes for this head_dim, got 101376\n");
    wide.needs_grad = true;
    CHECK(refusals(wide, host_with(86, smallest)) ==
          "shared_memory_per_block: expected at least 165120 bytes for this head_dim, got 101376\n");
    CHECK(refusals(wide, host_with(80, a100)) == "");
}

TEST_CASE("gradients of a dense bias are not deterministic, those of a relative bias are") {
    AttentionRequest asked = request();
    asked.bias_gradient = asked.needs_grad = asked.deterministic = true;
    asked.masks = {MaskKind::relative_bias};
    CHECK(refusals(asked, host_with(90, h100)) == "");
    asked.masks = {MaskKind::dense_bias};
    CHECK(refusals(asked, host_with(90, h100)) ==
          "deterministic: expected false on cuda with the gradient of a dense bias (where that is broadcast, "
          "it is "
          "added up atomically), got true\n");
    asked.deterministic = false;
    CHECK(refusals(asked, host_with(90, h100)) == "");
}
