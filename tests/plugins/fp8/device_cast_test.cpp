// The kernel that casts on a device: what its threads do, one after the other on the CPU, and its library. To
// add a case: a number of values or of threads.
#include <dlfcn.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "cuda/cast.h"
#include "float8.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::fp8;

namespace {

struct Found {
    at::Tensor codes;
    float amax = 0.0F;
};

template <class Code, class Storage>
Found run(const at::Tensor& x, float scale, std::int64_t threads) {
    Found found;
    // A value more, which nobody must write.
    found.codes = at::full({x.numel() + 1}, 0xAA, at::kByte);
    DeviceCast call;
    call.x = x.const_data_ptr();
    call.out = found.codes.mutable_data_ptr<std::uint8_t>();
    call.scale = &scale;
    call.count = x.numel();
    std::uint32_t amax = 0;
    for (std::int64_t thread = 0; thread < threads; ++thread)
        amax = std::max(amax, cast_part<Code, Storage>(call, thread, threads));
    found.amax = float_of(amax);
    return found;
}

// Of the same values: any NaN is as good as any other.
bool same_codes(const at::Tensor& found, const at::Tensor& expected) {
    const auto a = found.view(expected.scalar_type()).to(at::kFloat), b = expected.to(at::kFloat);
    const auto bits = found.eq(expected.view(at::kByte));
    return bits.logical_or(a.isnan().logical_and(b.isnan())).all().item<bool>();
}

template <class Code>
void check(const at::Tensor& x, float scale, std::int64_t threads, Format format) {
    const auto given = at::scalar_tensor(scale, at::kFloat);
    const auto expected = quantize(x.view({1, -1}), format, ScaleGroup::tensor, given);
    const Found found = x.scalar_type() == at::kFloat ? run<Code, float>(x, scale, threads)
                                                      : run<Code, std::uint16_t>(x, scale, threads);
    CHECK(same_codes(found.codes.narrow(0, 0, x.numel()), expected.operand.values.view({-1})));
    CHECK(found.codes[-1].item<int>() == 0xAA);
    const float amax = expected.amax.item<float>();
    CHECK((found.amax == amax || (std::isnan(found.amax) && std::isnan(amax))));
}

}  // namespace

TEST_CASE("a device's cast of every bfloat16 is the CPU's, and so is what it finds largest") {
    const auto all = at::arange(65536, at::kInt).to(at::kShort).view(at::kBFloat16);
    for (const float scale : {1.0F, 3.7F, 1e30F, 1e-30F}) {
        check<E4M3>(all, scale, 300, Format::e4m3);
        check<E5M2>(all, scale, 300, Format::e5m2);
    }
}

TEST_CASE("floats between those are rounded alike, ties and subnormals, too") {
    // Every 2,039th float of both signs.
    const auto bits = at::arange(0, 0x7F800000, 2039, at::kInt);
    const auto every = at::cat(
        {bits.view(at::kFloat), bits.bitwise_or(std::numeric_limits<std::int32_t>::min()).view(at::kFloat)});
    check<E4M3>(every, 1.0F, 1000, Format::e4m3);
    check<E5M2>(every, 1.0F, 1000, Format::e5m2);
    // The middles between neighbours.
    const auto codes = at::arange(0, 0x7B, at::kInt).to(at::kByte);
    const auto middles = [&](at::ScalarType type) {
        const auto low = codes.view(type).to(at::kFloat), high = codes.add(1).view(type).to(at::kFloat);
        return low.add(high).mul_(0.5F);
    };
    check<E4M3>(middles(at::kFloat8_e4m3fn), 1.0F, 7, Format::e4m3);
    check<E5M2>(middles(at::kFloat8_e5m2), 1.0F, 7, Format::e5m2);
}

TEST_CASE("each value is cast once, whatever the number of values and of threads") {
    for (const std::int64_t count : {1, 3, 4, 5, 127, 1024, 1027}) {
        for (const std::int64_t threads : {1, 2, 256, 2048}) {
            INFO(count << " values, " << threads << " threads");
            check<E4M3>(at::randn({count}), 50.0F, threads, Format::e4m3);
            check<E5M2>(at::randn({count}).to(at::kBFloat16), 50.0F, threads, Format::e5m2);
        }
    }
}

TEST_CASE("the CUDA library of fp8 opens on a machine without a device") {
    const auto path = switchyard::test::build_dir() / "lib/switchyard/plugins/libfp8_cuda.so";
    if (!std::filesystem::exists(path)) return switchyard::test::skip("built without CUDA");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    INFO((library == nullptr ? dlerror() : ""));
    REQUIRE(library != nullptr);
    CHECK(dlsym(library, "switchyard_plugin_cuda_v1") != nullptr);
}
