// Parts of parameters, and what functions over ranks do to values and gradients; ranks are this thread alone.
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include "core/workbench/model/parameter_cut.h"
#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/model/token_share.h"

#include <switchyard/reference/dropout_mask.h>

#include <switchyard_test.h>

using namespace switchyard;
using model::ParameterCut;

namespace {

// As if each of three ranks had what this one has.
class ThreeAlike final : public model::TensorRanks {
public:
    void sum(at::Tensor& tensor) override { tensor.mul_(3.0); }
    at::Tensor joined(const at::Tensor& part) override { return at::cat({part, part, part}, -1); }
    void gather_pieces(const at::Tensor& own, const at::Tensor& all,
                       const std::vector<std::int64_t>& sizes) override {
        CHECK(sizes == pieces);
        for (std::int64_t at = 0; at < all.numel(); ++at) all[at] = own[at % own.numel()];
    }
    void sum_pieces(const at::Tensor& all, const at::Tensor& own,
                    const std::vector<std::int64_t>& sizes) override {
        CHECK(sizes == pieces);
        own.copy_(all.narrow(0, pieces[0], pieces[1]).mul(3.0));
    }
    std::vector<std::int64_t> pieces;  // what is expected; of the second rank
};

}  // namespace

TEST_CASE("parts of a parameter put together are the whole, along rows, columns and in blocks") {
    const auto whole = at::arange(12 * 6, at::kFloat).reshape({12, 6});
    for (const std::int64_t dim : {0, 1}) {
        for (const std::int64_t blocks : {1, 2}) {
            for (const std::int64_t parts : {1, 3}) {
                INFO(dim << " " << blocks << " " << parts);
                std::vector<at::Tensor> own;
                for (std::int64_t i = 0; i < parts; ++i) {
                    const ParameterCut cut{{i, parts}, dim, blocks};
                    own.push_back(cut.own(whole));
                    CHECK(own.back().sizes() == at::IntArrayRef(cut.own_sizes({12, 6})));
                    CHECK(cut.whole_sizes(own.back().sizes().vec()) == whole.sizes().vec());
                }
                CHECK(ParameterCut{{0, parts}, dim, blocks}.joined(own).equal(whole));
            }
        }
    }
    // Of two blocks of six rows each the second of three parts has the third and fourth of each.
    const auto second = ParameterCut{{1, 3}, 0, 2}.own(whole);
    CHECK(second.equal(at::cat({whole.narrow(0, 2, 2), whole.narrow(0, 8, 2)})));
}

TEST_CASE("what goes into parts has the sum of their gradients, what comes out of them is their sum") {
    ThreeAlike ranks;
    const auto x = at::arange(4, at::kFloat).requires_grad_(true);
    const auto weight = at::full({4}, 2.0, at::kFloat);

    const auto in = model::into_parts(x, &ranks);
    CHECK(in.equal(x));
    in.mul(weight).sum().backward();
    CHECK(x.grad().equal(weight.mul(3.0)));

    x.mutable_grad() = at::Tensor();
    const auto out = model::out_of_parts(x.mul(weight), &ranks);
    CHECK(out.equal(x.detach().mul(6.0)));
    out.sum().backward();
    CHECK(x.grad().equal(weight));

    x.mutable_grad() = at::Tensor();
    const auto row = x.view({1, 4});
    const auto columns = model::columns_of_parts(row, {1, 3}, &ranks);
    CHECK(columns.equal(at::cat({row, row, row}, 1)));
    columns.mul(at::arange(12, at::kFloat)).sum().backward();
    CHECK(x.grad().equal(at::arange(4, 8, at::kFloat)));

    CHECK(model::into_parts(x, nullptr).is_same(x));
    CHECK(model::out_of_parts(x, nullptr).is_same(x));
    const at::NoGradGuard no_grad;
    CHECK_FALSE(model::out_of_parts(x, &ranks).requires_grad());
}

TEST_CASE("a rank's share of tokens is gathered, summed up and dropped from as all tokens are") {
    ThreeAlike ranks;
    ranks.pieces = {2, 4, 4};  // five tokens of two values
    const auto hidden = at::arange(10, at::kFloat).reshape({1, 5, 2}).requires_grad_(true);
    const model::TokenShare share(&ranks, {1, 3}, hidden.sizes());
    REQUIRE_FALSE(share.all());

    const auto own = share.own(hidden);
    CHECK(own.equal(hidden.detach()[0].narrow(0, 1, 2)));
    own.mul(at::arange(4, at::kFloat).reshape({2, 2})).sum().backward();
    CHECK(hidden.grad().flatten().equal(at::arange(10, at::kFloat).remainder(4)));

    const auto mine = at::arange(4, at::kFloat).reshape({2, 2}).requires_grad_(true);
    CHECK(share.gathered(mine).sizes() == hidden.sizes());
    share.gathered(mine).mul(hidden.detach()).sum().backward();
    CHECK(mine.grad().equal(hidden.detach()[0].narrow(0, 1, 2)));  // the same on all ranks
    mine.mutable_grad() = at::Tensor();
    share.into_parts(mine).mul(hidden.detach()).sum().backward();
    CHECK(mine.grad().equal(hidden.detach()[0].narrow(0, 1, 2).mul(3.0)));

    hidden.mutable_grad() = at::Tensor();
    const auto sum = share.out_of_parts(hidden);
    CHECK(sum.equal(hidden.detach()[0].narrow(0, 1, 2).mul(3.0)));
    sum.mul(at::arange(4, at::kFloat).reshape({2, 2})).sum().backward();
    CHECK(hidden.grad().flatten().equal(at::arange(10, at::kFloat).remainder(4)));

    const Dropout dropout{0.5, 7};
    const auto kept = reference::hidden_keep_mask(dropout, {}, hidden.sizes());
    CHECK(share.dropped(own.detach(), dropout, {})
              .equal(reference::apply_dropout(hidden.detach(), kept, dropout)[0].narrow(0, 1, 2)));
    CHECK(model::TokenShare(nullptr).own(hidden).is_same(hidden));
}
