// The reference of normalization against PyTorch's results (tests/fixtures) and finite differences.
// To add a case: add it to normalization() in tests/fixtures/make_fixtures.py, or a line to the table of
// gradients below.
#include <switchyard/conformance/differentiate.h>
#include <switchyard/reference/normalization.h>

#include "check.h"
#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;

namespace {

NormalizationInputs leaves(const test::FixtureCase& c) {
    return {conformance::leaf(c["x"]), conformance::leaf(c["bias"]), conformance::leaf(c["residual"]),
            conformance::leaf(c["weight"]), conformance::leaf(c["beta"])};
}

}  // namespace

TEST_CASE("normalization agrees with PyTorch in values and gradients") {
    for (const auto& c : test::load_fixture("normalization")) {
        INFO(c.name);
        NormalizationParams params;
        params.norm = *parse<NormKind>(c.numbers.at("kind").get<std::string>());
        params.eps = c.numbers.at("eps");
        const NormalizationInputs in = leaves(c);
        const NormalizationOutputs out = reference::normalization(in, params);
        CHECK(difference(out.y, c["y"]) < 1e-13);
        CHECK(out.sum.defined() == c["sum"].defined());
        if (out.sum.defined()) CHECK(difference(out.sum, c["sum"]) < 1e-15);
        const auto grads = conformance::differentiate({out.y, out.sum}, {c["grad_y"], c["grad_sum"]},
                                                      {in.x, in.bias, in.residual, in.weight, in.beta});
        const char* names[] = {"grad_x", "grad_bias", "grad_residual", "grad_weight", "grad_beta"};
        for (std::size_t i = 0; i < grads.size(); ++i) {
            INFO(names[i]);
            CHECK(grads[i].defined() == c[names[i]].defined());
            if (grads[i].defined()) CHECK(difference(grads[i], c[names[i]]) < 1e-12);
        }
    }
}

TEST_CASE("normalization's gradients agree with finite differences, dropout included") {
    for (const NormKind kind : {NormKind::layer_norm, NormKind::rms_norm}) {
        NormalizationParams params;
        params.norm = kind;
        params.dropout = {0.3, 11};
        const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
            const auto out = reference::normalization({x[0], x[1], x[2], x[3], x[4]}, params);
            return {out.y, out.sum};
        };
        const at::Tensor beta = kind == NormKind::layer_norm ? test::normal({9}, 5) : at::Tensor();
        CHECK(test::gradient_error(function, {test::normal({2, 3, 9}, 1), test::normal({9}, 2),
                                              test::normal({2, 3, 9}, 3), test::normal({9}, 4), beta}) <
              1e-8);
    }
}

TEST_CASE("16-bit normalization keeps statistics in float32 and returns the dtype of x") {
    // 1000 and 1001 are one value in bfloat16's steps of 8, so a mean taken in bfloat16 would be off by far
    // more than rounding.
    const at::Tensor x = test::normal({4, 4097}, 1).add(20.0).to(at::kBFloat16);
    const at::Tensor weight = test::normal({4097}, 2).to(at::kFloat);
    const auto low = reference::normalization({x, {}, {}, weight, {}}, {});
    const auto high = reference::normalization({x.to(at::kDouble), {}, {}, weight.to(at::kDouble), {}}, {});
    CHECK(low.y.scalar_type() == at::kBFloat16);
    CHECK(difference(low.y, high.y) < 0.005);
}

TEST_CASE("normalization says what does not fit") {
    const at::Tensor x = test::normal({2, 4}, 1), w = test::normal({4}, 2);
    CHECK_THROWS_WITH(reference::normalization({x, {}, {}, test::normal({5}, 1), {}}, {}),
                      "normalization: weight must be [4], the width of x [2, 4], got [5]");
    CHECK_THROWS_WITH(reference::normalization({x, {}, test::normal({2, 5}, 1), w, {}}, {}),
                      "normalization: residual must have the shape of x [2, 4], got [2, 5]");
    NormalizationParams rms;
    rms.norm = NormKind::rms_norm;
    CHECK_THROWS_WITH(reference::normalization({x, {}, {}, w, w}, rms),
                      "normalization: rms_norm has no beta");
    NormalizationParams dropped;
    dropped.dropout = {0.1, 1};
    CHECK_THROWS_WITH(
        reference::normalization({x, {}, {}, w, {}}, dropped),
        "dropout: expected [batch, seq, width] for padded tokens, got a tensor of 2 dimensions");
}
