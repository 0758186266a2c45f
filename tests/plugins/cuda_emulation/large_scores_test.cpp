// What ../flash/large_scores_test.cpp asks of the CPU's kernels, of those of a device. To add a case:
// large_scores.cpp there.
#include "large_scores.h"

#include <ATen/Functions.h>

#include "attention_on_device.h"
#include "grid_emulation.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

class OnDevice {
public:
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params, Saved* saved) {
        flash_cuda::Queue queue;
        queue.multiprocessors = 8;  // so that few queries are decoded in several parts
        return attention_.forward(inputs, params, saved, queue);
    }
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) {
        return attention_.backward(params, saved, grad_out, needs, {});
    }

private:
    flash_cuda::AttentionOnDevice attention_;
};

}  // namespace

TEST_CASE("on a device large scores and large biases have the softmax and the gradients of float64") {
    at::manual_seed(6);
    for (const auto type : {at::kBFloat16, at::kHalf}) {
        for (const std::int64_t queries : {3, 70}) {
            for (const auto& problem : test::large_scores(type, queries, 300)) {
                INFO(c10::toString(type) << ", " << queries << " queries, " << problem.name);
                OnDevice attention;
                CHECK(test::differences(problem, test::run(attention, problem), test::in_float64(problem)) ==
                      "");
            }
        }
    }
}

TEST_CASE("on a device the probabilities that backward makes again sum to one where scores are rounded") {
    at::manual_seed(7);
    for (const std::int64_t queries : {2, 70}) {
        for (const double size : {1.0, 1e2, 1e4, 1e7}) {
            INFO(queries << " queries, " << size);
            const auto random = [&](std::int64_t rows, double scale) {
                return at::randn({1, 2, rows, 40}).mul_(scale).to(at::kBFloat16);
            };
            const AttentionInputs inputs{random(queries, size), random(300, size), random(300, 1.0), {}, {}};
            OnDevice attention;
            Saved saved;
            attention.forward(inputs, {}, &saved);
            const auto grads = attention.backward({}, saved, at::ones_like(inputs.q), {});
            CHECK(grads.q.isfinite().all().item<bool>());
            CHECK(grads.k.isfinite().all().item<bool>());
            const at::Tensor sums = grads.v.to(at::kDouble).sum(-2);
            CHECK(sums.allclose(at::full_like(sums, static_cast<double>(queries)), 1e-2, 0.0));
        }
    }
}
