// The reference's gradients of attention against finite differences, for every mask and for combinations.
// To add a case: add a line to `variants`.
#include <functional>

#include <ATen/ops/tensor.h>

#include <switchyard/reference/attention.h>

#include "check.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::normal;

namespace {

struct Variant {
    const char* name;
    MaskSet kinds;
    double dropout = 0.0;
    std::int64_t kv_heads = 2;
};

const Variant variants[] = {
    {"no mask", {}},
    {"grouped heads", {}, 0.0, 1},
    {"dropout", {}, 0.4},
    {"causal", {MaskKind::causal}},
    {"key lengths", {MaskKind::key_lengths}},
    {"window", {MaskKind::sliding_window}},
    {"prefix", {MaskKind::causal, MaskKind::prefix}},
    {"alibi", {MaskKind::alibi}},
    {"soft cap", {MaskKind::soft_cap}},
    {"relative bias", {MaskKind::relative_bias}},
    {"dense bias", {MaskKind::dense_bias}},
    {"all but dense bias, grouped, dropout",
     {MaskKind::causal, MaskKind::key_lengths, MaskKind::sliding_window, MaskKind::prefix, MaskKind::alibi,
      MaskKind::soft_cap, MaskKind::relative_bias},
     0.3,
     1},
    {"all biases, grouped, dropout",
     {MaskKind::causal, MaskKind::alibi, MaskKind::soft_cap, MaskKind::relative_bias, MaskKind::dense_bias},
     0.3,
     1},
};

AttentionParams params_of(const Variant& variant) {
    AttentionParams params;
    params.dropout = {variant.dropout, 21};
    params.mask.kinds = variant.kinds;
    params.mask.key_lengths = at::tensor({3, 6}, at::kInt);
    params.mask.prefix_lengths = at::tensor({4, 0}, at::kInt);
    params.mask.window_left = 2;
    params.mask.window_right = 0;
    params.mask.alibi_slopes = at::tensor({0.3F, 0.7F});
    params.mask.soft_cap = 1.5;
    params.mask.relative_max_distance = 4;
    return params;
}

}  // namespace

TEST_CASE("attention's gradients agree with finite differences, padded") {
    for (const Variant& variant : variants) {
        INFO(variant.name);
        const AttentionParams params = params_of(variant);
        const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
            return {reference::attention({x[0], x[1], x[2], x[3], x[4]}, params).out};
        };
        const bool relative = variant.kinds.has(MaskKind::relative_bias),
                   dense = variant.kinds.has(MaskKind::dense_bias);
        CHECK(test::gradient_error(function, {normal({2, 2, 5, 4}, 1), normal({2, variant.kv_heads, 6, 4}, 2),
                                              normal({2, variant.kv_heads, 6, 3}, 3),
                                              relative ? normal({6, 2}, 4) : at::Tensor(),
                                              dense ? normal({1, 2, 5, 6}, 5) : at::Tensor()}) < 1e-8);
    }
}

TEST_CASE("attention's gradients agree with finite differences, packed") {
    for (Variant variant : variants) {
        if (variant.kinds.has(MaskKind::dense_bias)) continue;
        INFO(variant.name);
        variant.kinds.erase(MaskKind::key_lengths);
        variant.kinds.insert(MaskKind::documents);
        AttentionParams params = params_of(variant);
        params.layout = Layout::packed;
        params.mask.cu_seqlens_q = at::tensor({0, 3, 5}, at::kInt);
        params.mask.cu_seqlens_k = at::tensor({0, 3, 8}, at::kInt);
        const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
            return {reference::attention({x[0], x[1], x[2], x[3], {}}, params).out};
        };
        const bool relative = variant.kinds.has(MaskKind::relative_bias);
        CHECK(test::gradient_error(function, {normal({5, 2, 4}, 1), normal({8, variant.kv_heads, 4}, 2),
                                              normal({8, variant.kv_heads, 3}, 3),
                                              relative ? normal({6, 2}, 4) : at::Tensor()}) < 1e-8);
    }
}
