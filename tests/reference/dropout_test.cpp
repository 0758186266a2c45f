// The dropout masks of the reference against the generator's definition, one element at a time.
// To add a case: assert against dropout_keeps, which is the definition, or against published Philox vectors.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <switchyard/reference/dropout_mask.h>

#include "check.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("philox gives the published numbers") {
    // Random123's known-answer tests (kat_vectors, philox4x32 with 10 rounds).
    CHECK(philox4x32_10({0, 0, 0, 0}, 0) ==
          std::array<std::uint32_t, 4>{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
    CHECK(philox4x32_10({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}, 0xffffffffffffffffULL) ==
          std::array<std::uint32_t, 4>{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
    CHECK(philox4x32_10({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, 0x299f31d0a4093822ULL) ==
          std::array<std::uint32_t, 4>{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U});
}

TEST_CASE("the attention mask is the generator's, element by element") {
    const Dropout dropout{0.3, 0x123456789abcdef0ULL};
    for (const std::int64_t keys : {0, 1, 63, 64, 65, 200}) {
        const at::Tensor keep = reference::attention_keep_mask(dropout, 5, 2, {7, 3}, 4, keys);
        CHECK(keep.sizes() == at::IntArrayRef({2, 3, 4, keys}));
        const bool* data = keep.const_data_ptr<bool>();
        bool equal = true;
        for (std::uint32_t b = 0; b < 2; ++b)
            for (std::uint32_t h = 0; h < 3; ++h)
                for (std::uint32_t i = 0; i < 4; ++i)
                    for (std::uint32_t j = 0; j < keys; ++j)
                        equal = equal && *data++ == dropout_keeps(dropout, {5 + b, 7 + h, i, j});
        CHECK(equal);
    }
}

TEST_CASE("the mask of a rectangle is that part of the whole mask") {
    const Dropout dropout{0.3, 7};
    const at::Tensor whole = reference::attention_keep_mask(dropout, 5, 2, {0, 3}, 9, 200);
    for (const auto& [begin, size] :
         {std::pair<std::int64_t, std::int64_t>{0, 200}, {0, 10}, {63, 2}, {64, 64}, {70, 100}, {130, 0}}) {
        const at::Tensor part = reference::attention_keep_rectangle(dropout, 5, 2, {0, 3}, {4, 3}, {begin, size});
        CHECK(part.equal(whole.narrow(2, 4, 3).narrow(3, begin, size)));
    }
}

TEST_CASE("padded and packed hidden states get the same mask for the same token") {
    const Dropout dropout{0.5, 99};
    Tokens padded;
    padded.first_document = 3;
    Tokens packed;
    packed.layout = Layout::packed;
    packed.cu_seqlens = at::tensor({0, 2, 2, 6}, at::kInt);
    packed.first_document = 3;
    const at::Tensor wide = reference::hidden_keep_mask(dropout, padded, {3, 5, 70});
    const at::Tensor flat = reference::hidden_keep_mask(dropout, packed, {6, 70});
    CHECK(wide[0].narrow(0, 0, 2).equal(flat.narrow(0, 0, 2)));
    const at::Tensor part = reference::hidden_keep_mask(dropout, padded, {3, 5, 30}, at::kCPU, 40);
    CHECK(part.equal(wide.narrow(2, 40, 30)));
    CHECK(wide[2].narrow(0, 0, 4).equal(flat.narrow(0, 2, 4)));
    CHECK(wide[2][3][69].item<bool>() == dropout_keeps(dropout, {5, 0, 3, 69}));
}

TEST_CASE("what is kept has the expectation of what was there") {
    const Dropout dropout{0.1, 7};
    const at::Tensor x = at::arange(1, 2 * 128 * 512 + 1, at::kDouble).view({2, 128, 512});
    const at::Tensor y = reference::hidden_dropout(x, dropout, {});
    const double dropped = y.eq(0.0).to(at::kDouble).mean().item<double>();
    CHECK(dropped == test::Approx(0.1).margin(0.004));
    CHECK(y.div(x).max().item<double>() == test::Approx(dropout.keep_scale()).epsilon(1e-12));
    CHECK(reference::hidden_dropout(x, {}, {}).is_same(x));
}

TEST_CASE("packed tokens that do not fit the tensor are refused") {
    Tokens tokens;
    tokens.layout = Layout::packed;
    tokens.cu_seqlens = at::tensor({0, 2, 5}, at::kInt);
    CHECK_THROWS_WITH(reference::hidden_keep_mask({0.1, 1}, tokens, {6, 4}),
                      "dropout: cu_seqlens must go from 0 to the 6 rows of the tensor");
}
