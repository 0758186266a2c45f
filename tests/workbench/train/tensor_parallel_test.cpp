// Ranks that have a part of each layer against one process that has all of it, and as a mesh with ranks that
// have other batches. To add a case: a line in `cases`.
#include <algorithm>
#include <string>
#include <vector>

#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const Sets as_llama{"model.positions=rotary",    "model.heads=4",       "model.kv_heads=2",
                    "model.activation=swiglu",   "model.norm=rms_norm", "model.bias=false",
                    "model.tie_embeddings=false"};

}  // namespace

TEST_CASE("two ranks with half of each layer learn what one process learns") {
    check_all({{"bert", "classification", 2, {}, 2},
               {"bert", "masked_lm", 2, {"batch.layout=packed"}, 2},
               {"gpt", "causal_lm", 2, {}, 2},
               {"gpt", "causal_lm", 2, as_llama, 2},
               {"gpt", "causal_lm", 2, {"model.positions=alibi", "model.heads=4"}, 2},
               {"t5", "seq2seq", 2, {}, 2},
               {"t5", "seq2seq", 2, {"model.activation=geglu_erf", "batch.layout=packed"}, 2}});
}

TEST_CASE("a mesh of two by two ranks learns what one process learns") {
    check_all({{"bert", "classification", 4, {}, 2},
               {"gpt", "causal_lm", 4, as_llama, 2},
               {"t5", "seq2seq", 4, {"optimizer.max_grad_norm=0.1"}, 2}});
}

TEST_CASE("parts of layers are dropped from, run again and clipped as the whole is") {
    const auto recomputed = [](const std::string& part) { return Sets{"train.recompute=" + part}; };
    check_all({{"gpt", "causal_lm", 2, {"attention.backend=flash", "normalization.backend=fused"}, 2},
               {"bert", "masked_lm", 2, {"attention.backend=chunked"}, 2},
               {"t5", "seq2seq", 2, recomputed("layers"), 2},
               {"gpt", "causal_lm", 2, recomputed("attention"), 2},
               {"t5", "seq2seq", 2, recomputed("feed_forward"), 2},
               {"gpt", "causal_lm", 2, {"optimizer.backend=fused", "optimizer.max_grad_norm=0.1"}, 2},
               {"gpt", "causal_lm", 2, {"optimizer.backend=naive", "optimizer.algorithm=lion"}, 2},
               {"gpt", "causal_lm", 4, {"model.heads=4", "optimizer.algorithm=sgd"}, 4},
               {"gpt", "causal_lm", 2, {"train.ema=0.9"}, 2}});
}
