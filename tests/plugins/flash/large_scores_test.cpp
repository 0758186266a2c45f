// Scores so large that a float has few places left for what tells them apart: the softmax depends on
// differences only, so no size of the scores may change it. To add a case: large_scores.cpp.
#include "large_scores.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <switchyard/conformance/threads.h>
#include <switchyard/interfaces/torch_types.h>

#include "builtin.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

at::Tensor random(at::IntArrayRef sizes, at::ScalarType type, double size = 1.0) {
    return at::randn(sizes, at::TensorOptions().dtype(at::kFloat)).mul_(size).to(type);
}

constexpr at::ScalarType types[] = {at::kFloat, at::kBFloat16, at::kHalf};

}  // namespace

TEST_CASE("large scores and large biases have the softmax and the gradients of float64") {
    const conformance::Threads one(1);
    at::manual_seed(6);
    for (const auto type : types) {
        AttentionRequest request;
        request.dtype = *from_scalar_type(type);
        const auto flash = test::make<Attention>("flash", "flash", request);
        const auto chunked = test::make<Attention>("chunked", "chunked", request);
        for (const std::int64_t queries : {3, 70}) {
            for (const auto& problem : test::large_scores(type, queries, 600)) {
                INFO(c10::toString(type) << ", " << queries << " queries, " << problem.name);
                const auto expected = test::in_float64(problem);
                CHECK(test::differences(problem, test::run(*flash, problem), expected) == "");
                CHECK(test::differences(problem, test::run(*chunked, problem), expected) == "");
                // Without a gradient 3 queries are decoded.
                const auto outputs = flash->forward(problem.inputs, problem.params, nullptr);
                CHECK(test::output_differences(problem, outputs, expected.outputs) == "");
            }
        }
    }
}

TEST_CASE("scores of 16-bit inputs are summed up in float32 and not rounded to less") {
    const conformance::Threads one(1);
    at::manual_seed(8);
    for (const std::string plugin : {"naive", "chunked", "flash"}) {
        for (const auto type : {at::kBFloat16, at::kHalf}) {
            INFO(plugin << ", " << c10::toString(type));
            AttentionRequest request;
            request.dtype = *from_scalar_type(type);
            const auto attention = test::make<Attention>(plugin, plugin, request);
            test::LargeScores problem;
            problem.inputs = {random({1, 2, 70, 64}, type, 4.0),
                              random({1, 2, 300, 64}, type),
                              random({1, 2, 300, 64}, type),
                              {},
                              {}};
            problem.params.want_lse = true;
            problem.grad_out = random({1, 2, 70, 64}, type);
            const auto found = attention->forward(problem.inputs, problem.params, nullptr);
            const auto expected = test::in_float64(problem).outputs;
            // The log-sum-exp is as exact as the scores are, and in float32 whatever the inputs.
            CHECK(found.lse.to(at::kDouble).allclose(expected.lse, 1e-5, 1e-5));
            const at::Tensor error = found.out.to(at::kDouble) - expected.out;
            const double rounding = type == at::kBFloat16 ? 1.0 / 256 : 1.0 / 2048;
            CHECK((error.norm() / expected.out.norm()).item<double>() < rounding);
        }
    }
}

TEST_CASE("the probabilities that backward makes again sum to one where scores are large and rounded") {
    const conformance::Threads one(1);
    at::manual_seed(7);
    for (const std::string plugin : {"flash", "chunked"}) {
        for (const auto type : {at::kFloat, at::kBFloat16}) {
            AttentionRequest request;
            request.dtype = *from_scalar_type(type);
            const auto attention = test::make<Attention>(plugin, plugin, request);
            for (const std::int64_t queries : {1, 4, 70}) {
                for (const double size : {1.0, 1e2, 1e4, 1e7}) {
                    INFO(plugin << ", " << c10::toString(type) << ", " << queries << " queries, " << size);
                    const AttentionInputs inputs{random({2, 2, queries, 40}, type, size),
                                                 random({2, 2, 1100, 40}, type, size),
                                                 random({2, 2, 1100, 40}, type),
                                                 {},
                                                 {}};
                    const at::Tensor grad_out = at::ones_like(inputs.q);
                    Saved saved;
                    attention->forward(inputs, {}, &saved);
                    const auto grads = attention->backward({}, saved, grad_out, {});
                    CHECK(grads.q.isfinite().all().item<bool>());
                    CHECK(grads.k.isfinite().all().item<bool>());
                    // dv is the sum over queries of probability times 1.
                    const at::Tensor sums = grads.v.to(at::kDouble).sum(-2);
                    const double allowed = type == at::kFloat ? 1e-5 : 1e-2;
                    CHECK(sums.allclose(at::full_like(sums, static_cast<double>(queries)), allowed, 0.0));
                }
            }
        }
    }
}
