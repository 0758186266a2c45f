// What the host code of the CUDA attention sees to beyond single calls: bad input, and what it remembers from
// one call to the next. To add a case: a call that differs from the one before in what is remembered.
#include <limits>
#include <stdexcept>
#include <string>

#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <switchyard/reference/attention.h>

#include "attention_on_device.h"
#include "grid_emulation.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

at::Tensor numbers(std::initializer_list<int> list) { return at::tensor(at::ArrayRef<int>(list), at::kInt); }
at::Tensor random(at::IntArrayRef sizes) {
    return at::randn(sizes, at::TensorOptions().dtype(at::kBFloat16));
}

AttentionInputs packed_inputs(std::int64_t total) {
    return {random({total, 2, 16}), random({total, 2, 16}), random({total, 2, 16}), {}, {}};
}
AttentionParams packed(const at::Tensor& cu_seqlens) {
    AttentionParams params;
    params.layout = Layout::packed;
    params.mask.kinds = {MaskKind::documents};
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = cu_seqlens;
    return params;
}

bool right(flash_cuda::AttentionOnDevice& attention, const AttentionInputs& inputs,
           const AttentionParams& params) {
    const auto found = attention.forward(inputs, params, nullptr, {}).out;
    return found.to(at::kFloat).allclose(reference::attention(inputs, params).out.to(at::kFloat), 2e-2, 2e-2);
}

}  // namespace

TEST_CASE("packed lengths are followed when they are changed in place or replaced") {
    flash_cuda::AttentionOnDevice attention;
    const auto inputs = packed_inputs(100);
    auto params = packed(numbers({0, 30, 100}));
    CHECK(right(attention, inputs, params));
    CHECK(right(attention, inputs, params));
    params.mask.cu_seqlens_q.copy_(numbers({0, 95, 100}));
    CHECK(right(attention, inputs, params));
    params = packed(numbers({0, 1, 2, 100}));
    CHECK(right(attention, inputs, params));
    CHECK(right(attention, packed_inputs(70), packed(numbers({0, 70}))));
}

TEST_CASE("a relative bias is followed when its bucketing or its size changes") {
    flash_cuda::AttentionOnDevice attention;
    AttentionInputs inputs{
        random({1, 2, 40, 16}), random({1, 2, 40, 16}), random({1, 2, 40, 16}), random({16, 2}), {}};
    AttentionParams params;
    params.mask.kinds = {MaskKind::relative_bias};
    params.mask.relative_max_distance = 20;
    CHECK(right(attention, inputs, params));
    params.mask.relative_bidirectional = false;
    CHECK(right(attention, inputs, params));
    params.mask.relative_max_distance = 30;
    CHECK(right(attention, inputs, params));
    inputs.relative_bias = random({8, 2});
    CHECK(right(attention, inputs, params));
}

TEST_CASE("what is not a number makes all that depends on it not a number") {
    flash_cuda::AttentionOnDevice attention;
    // 1 query is decoded, in one piece or in several; 70 are more than a tile. LibTorch's products of
    // bfloat16, of which the reference is made, may carry a NaN into the row before where keys are no whole
    // tiles.
    for (const std::int64_t queries : {1, 70}) {
        for (const std::int64_t keys : {96, 2016}) {
            for (const std::string which : {"q", "k", "v"}) {
                INFO(queries << " queries, " << keys << " keys, " << which);
                AttentionInputs inputs{
                    random({1, 2, queries, 16}), random({1, 2, keys, 16}), random({1, 2, keys, 16}), {}, {}};
                auto& x = which == "q" ? inputs.q : which == "k" ? inputs.k : inputs.v;
                x.select(-2, queries / 2).fill_(std::numeric_limits<float>::quiet_NaN());
                const auto found = attention.forward(inputs, {}, nullptr, {}).out;
                CHECK(found.isnan().equal(reference::attention(inputs, {}).out.isnan()));
            }
        }
    }
}

TEST_CASE("bad packed lengths are errors that name the values, also when they were good before") {
    flash_cuda::AttentionOnDevice attention;
    const auto inputs = packed_inputs(100);
    const auto error = [&](const at::Tensor& cu_seqlens) -> std::string {
        try {
            attention.forward(inputs, packed(cu_seqlens), nullptr, {});
        } catch (const std::invalid_argument& thrown) {
            return thrown.what();
        }
        return "";
    };
    const at::Tensor lengths = numbers({0, 30, 100});
    CHECK(error(lengths) == "");
    CHECK(error(numbers({1, 30, 100})) == "attention: cu_seqlens_q must start at 0, got 1");
    CHECK(error(numbers({0, 30, 20, 100})) ==
          "attention: cu_seqlens_q must not decrease, but entry 2 is 20 after 30");
    CHECK(error(lengths) == "");
    lengths.fill_(0);
    CHECK(error(lengths) == "attention: cu_seqlens_q must end at the total of 100, got 0");
}

TEST_CASE("a mask without its data, and heads that do not fit, are errors whatever was called before") {
    flash_cuda::AttentionOnDevice attention;
    auto params = packed(numbers({0, 30, 100}));
    auto inputs = packed_inputs(100);
    attention.forward(inputs, params, nullptr, {});
    params.mask.kinds.insert(MaskKind::alibi);
    CHECK_THROWS_AS(attention.forward(inputs, params, nullptr, {}), std::invalid_argument);
    params.mask.alibi_slopes = at::randn({3});
    CHECK_THROWS_AS(attention.forward(inputs, params, nullptr, {}), std::invalid_argument);
    inputs.k = random({100, 3, 16});
    inputs.v = random({100, 3, 16});
    CHECK_THROWS_AS(attention.forward(inputs, packed(numbers({0, 30, 100})), nullptr, {}),
                    std::invalid_argument);
}
