// Ranks that have a part of each layer against one process that has all of it, and as a mesh with ranks that
// have other batches. To add a case: a line in `cases`.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ops/cat.h>

#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/train/optimizer_parts.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/step_parts.h"
#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("two ranks with half of each layer learn what one process learns") {
    check_all({{"bert", "classification", 2, {}, 2},
               {"bert", "masked_lm", 2, {"batch.layout=packed"}, 2},
               {"gpt", "causal_lm", 2, {}, 2},
               {"gpt", "causal_lm", 2, as_llama, 2},
               {"gpt", "causal_lm", 2, {"model.positions=alibi", "model.heads=4"}, 2},
               {"t5", "seq2seq", 2, {}, 2},
               {"t5", "seq2seq", 2, {"model.activation=geglu_erf", "batch.layout=packed"}, 2}});
}

TEST_CASE("ranks that divide tokens between blocks learn what one process learns") {
    check_all({{"bert", "classification", 2, {}, 2, 1, true},
               {"bert", "masked_lm", 2, {"batch.layout=packed"}, 2, 1, true},
               {"gpt", "causal_lm", 2, as_llama, 2, 1, true},
               {"gpt", "causal_lm", 4, {"model.heads=4", "optimizer.max_grad_norm=0.1"}, 4, 1, true},
               {"t5", "seq2seq", 2, {}, 2, 1, true},
               {"t5", "seq2seq", 4, {"batch.layout=packed"}, 2, 1, true},
               {"gpt", "causal_lm", 4, {}, 2, 2, true}});
}

TEST_CASE("tokens are divided too where layers run again, or a norm has a kernel for what comes before it") {
    const auto recomputed = [](const std::string& part) { return Sets{"train.recompute=" + part}; };
    check_all({{"t5", "seq2seq", 2, recomputed("layers"), 2, 1, true},
               {"gpt", "causal_lm", 2, recomputed("attention"), 2, 1, true},
               {"t5", "seq2seq", 2, recomputed("attention"), 2, 1, true},
               {"bert", "masked_lm", 2, recomputed("feed_forward"), 2, 1, true},
               {"gpt", "causal_lm", 2, {"normalization.backend=fused"}, 2, 1, true}});
}

TEST_CASE("a mesh of two by two ranks learns what one process learns") {
    check_all({{"bert", "classification", 4, {}, 2},
               {"gpt", "causal_lm", 4, as_llama, 2},
               {"t5", "seq2seq", 4, {"optimizer.max_grad_norm=0.1"}, 2}});
}

TEST_CASE("a mesh of two by two ranks learns what one process learns with other optimizers") {
    for (const std::string algorithm : {"adam", "sgd", "lion", "muon"})
        check_all(
            {{"gpt",
              "causal_lm",
              4,
              {"optimizer.algorithm=" + algorithm, "optimizer.backend=naive", "optimizer.max_grad_norm=0.1"},
              2}});
}

TEST_CASE("what is not finite in one rank's part is known to all, and no rank steps") {
    check_not_finite_on_one("distributed.mesh.tensor=2", "decoder.0.attention.q.weight");
}

TEST_CASE("a gradient that is not finite changes nothing on any rank that has a part") {
    const Case one{"gpt", "causal_lm", 2, {"train.nonfinite=skip", "optimizer.lr=1e20"}, 2};
    const auto ranks = train_on_ranks(one, 4, 1);
    CHECK(std::ranges::count(ranks[0].skipped, true) > 0);
    CHECK(ranks[0].skipped == ranks[1].skipped);
}

TEST_CASE("each of two ranks has half of what is cut, and of the state and masters of that") {
    const auto bytes_of = [](const Case& one, distributed::Group* group) {
        const auto texts = texts_for(one.task);
        auto sets = sets_of(one, 2, 1);
        sets.push_back("distributed.mesh.tensor=" + std::to_string(group == nullptr ? 1 : 2));
        const ShortTraining job(sets, texts, group);
        std::int64_t cut = 0, other = 0;
        for (const auto& parameter : job.session.parameters().all()) {
            const bool of_layer =
                parameter.name.find("coder.") != std::string::npos || parameter.name == "embeddings.word";
            const bool last_bias =
                parameter.name.ends_with("out.bias") || parameter.name.find("norm.") != std::string::npos;
            (of_layer && !last_bias ? cut : other) += static_cast<std::int64_t>(parameter.value.nbytes());
        }
        return std::pair(cut, other);
    };
    for (const auto& one :
         {Case{"bert", "classification"}, Case{"gpt", "causal_lm"}, Case{"t5", "seq2seq"}}) {
        INFO(one.type);
        const auto [all_cut, all_other] = bytes_of(one, nullptr);
        std::int64_t cut = 0, other = 0;
        as_ranks(2, [&](distributed::Group& group) {
            const auto [own_cut, own_other] = bytes_of(one, &group);
            if (group.rank() == 1) cut = own_cut, other = own_other;
        });
        CHECK(2 * cut == all_cut);
        CHECK(other == all_other);
    }
}

namespace {

// Ranks of which this one is told to be the only one: it sums up nothing, and counts.
class CountedSums final : public model::TensorRanks {
public:
    void sum(at::Tensor& tensor) override { ++(tensor.dim() == 1 ? vectors : count); }
    at::Tensor joined(const at::Tensor& part) override {
        numbers_of_row = part.size(-1);
        return at::cat({part, part}, -1);
    }
    void gather_pieces(const at::Tensor& own, const at::Tensor& all,
                       const std::vector<std::int64_t>&) override {
        ++gathers;
        all.zero_().narrow(0, 0, own.numel()).copy_(own);
    }
    void sum_pieces(const at::Tensor& all, const at::Tensor& own, const std::vector<std::int64_t>&) override {
        ++shares;
        own.copy_(all.narrow(0, 0, own.numel()));
    }
    int count = 0, vectors = 0;   // sums of hidden states and of vectors
    int gathers = 0, shares = 0;  // of tokens; sums of which each rank gets its tokens
    std::int64_t numbers_of_row = 0;
};

}  // namespace

TEST_CASE("blocks sum up once forward and once backward, whatever runs again") {
    struct Counted {
        std::string type, task, recompute;
        int forward, backward;
    };
    // Of two layers, of words once forward and of the head's input once backward; a t5 has two stacks that
    // read words, cross-attention, and once the gradient of what its encoder gives.
    for (const auto& one :
         {Counted{"gpt", "causal_lm", "none", 5, 5}, Counted{"gpt", "causal_lm", "attention", 5, 5},
          Counted{"gpt", "causal_lm", "layers", 5, 9}, Counted{"bert", "masked_lm", "feed_forward", 5, 5},
          Counted{"t5", "seq2seq", "none", 12, 12}}) {
        INFO(one.type << " " << one.recompute);
        as_ranks(2, [&](distributed::Group& group) {
            const auto texts = texts_for(one.task);
            auto sets = sets_of({one.type, one.task}, 2, 1);
            sets.insert(sets.end(), {"distributed.mesh.tensor=2", "train.recompute=" + one.recompute});
            ShortTraining job(sets, texts, &group);
            CountedSums counted;
            model::ForwardContext context;
            context.phase = Phase::train;
            context.recompute = job.config.train.recompute;
            context.ranks = &counted;
            const auto batch = job.trainer.next_group().front();
            const auto loss =
                job.session.model().task(context, batch, train::step_loss(job.config, 1.0)).loss.loss;
            if (group.rank() != 0) return;
            CHECK(counted.count == one.forward);
            CHECK(counted.numbers_of_row == 3);  // and no logits
            loss.backward();
            CHECK(counted.count == one.forward + one.backward);
        });
    }
}

TEST_CASE("with tokens divided each sum becomes a gather and a sum of own tokens") {
    struct Counted {
        std::string recompute;
        int gathers, again;
    };
    // Of two layers with two blocks each, forward and backward, and both ends of the stack.
    for (const auto& one : {Counted{"none", 5, 5}, Counted{"attention", 5, 7}, Counted{"layers", 5, 9}}) {
        INFO(one.recompute);
        as_ranks(2, [&](distributed::Group& group) {
            const auto texts = texts_for("causal_lm");
            auto sets = sets_of({"gpt", "causal_lm"}, 2, 1);
            sets.insert(sets.end(), {"distributed.mesh.tensor=2", "distributed.sequence_parallel=true",
                                     "train.recompute=" + one.recompute});
            ShortTraining job(sets, texts, &group);
            CountedSums counted;
            model::ForwardContext context;
            context.phase = Phase::train;
            context.recompute = job.config.train.recompute;
            context.ranks = &counted;
            const auto batch = job.trainer.next_group().front();
            const auto loss =
                job.session.model().task(context, batch, train::step_loss(job.config, 1.0)).loss.loss;
            if (group.rank() != 0) return;
            CHECK(counted.count == 1);  // of words
            CHECK(counted.gathers == one.gathers);
            CHECK(counted.shares == 4);
            CHECK(counted.vectors == 0);
            loss.backward();
            CHECK(counted.count == 2);  // and of the head's input
            CHECK(counted.gathers == one.gathers + one.again);
            CHECK(counted.shares == (one.recompute == "layers" ? 12 : 8));
            // Of weight and beta of five norms, and the last bias of four blocks.
            CHECK(counted.vectors == 14);
        });
    }
}

TEST_CASE("a target that is no word of any rank's part is an error, not a loss") {
    as_ranks(2, [&](distributed::Group& group) {
        const Case one{"gpt", "causal_lm"};
        const auto texts = texts_for(one.task);
        auto sets = sets_of(one, 2, 1);
        sets.push_back("distributed.mesh.tensor=2");
        ShortTraining job(sets, texts, &group);
        CountedSums counted;
        model::ForwardContext context;
        context.phase = Phase::train;
        context.ranks = &counted;
        const auto words = job.config.model.vocab_size;
        const auto loss_with = [&](std::int64_t target) {
            auto batch = job.trainer.next_group().front();
            batch.labels.view(-1)[0] = target;
            job.session.model().task(context, batch, train::step_loss(job.config, 1.0));
        };
        if (group.rank() != 0) return;
        CHECK_NOTHROW(loss_with(words - 1));
        CHECK_NOTHROW(loss_with(-100));
        CHECK_THROWS_WITH(loss_with(words), contains("is not a word of the vocabulary of"));
        CHECK_THROWS_WITH(loss_with(-1), contains("is not a word of the vocabulary of"));
    });
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
               {"gpt", "causal_lm", 2, {"optimizer.backend=fused", "optimizer.algorithm=adam"}, 2},
               {"bert", "classification", 2, {"optimizer.algorithm=adam"}, 2},
               {"gpt", "causal_lm", 4, {"model.heads=4", "optimizer.algorithm=sgd"}, 4},
               {"gpt", "causal_lm", 2, {"model.vocab_size=51"}, 2},
               {"t5", "seq2seq", 2, {"loss.projection=true", "loss.backend=naive"}, 2},
               {"gpt", "causal_lm", 2, {"train.ema=0.9"}, 2},
               {"gpt", "causal_lm", 2, {"linear.backend=gemm"}, 2}});
}

TEST_CASE(
    "an optimizer that steps whole matrices, or blocks of them, steps those of which ranks have parts") {
    const auto by = [](const std::string& algorithm, const std::string& backend) {
        return Sets{"optimizer.algorithm=" + algorithm, "optimizer.backend=" + backend,
                    "optimizer.max_grad_norm=0.1"};
    };
    check_all({{"gpt", "causal_lm", 2, by("lamb", "naive"), 2},
               {"gpt", "causal_lm", 2, by("muon", "fused"), 2},
               {"t5", "seq2seq", 4, by("lamb", "fused"), 2},
               {"bert", "classification", 4, by("muon", "naive"), 2, 2},
               {"gpt",
                "causal_lm",
                2,
                {"optimizer.algorithm=lamb", "optimizer.backend=naive",
                 "group=[{match=[\"decoder.0.*\"],frozen=true}]"},
                2,
                1,
                true}});
    // In narrower numbers: what each value becomes is what one process makes of it, but for sums.
    for (const auto& more :
         {Sets{"precision.backend=amp/bf16_pure", "optimizer.algorithm=muon", "optimizer.backend=fused"},
          Sets{"optimizer.backend=optim8bit", "optimizer.allow_reduced=true",
               "optimizer.options.optim8bit.min_8bit_size=512"}}) {
        INFO(more.front());
        const Case one{"gpt", "causal_lm", 2, more, 2};
        const auto alone = trained_by(one, 4, 2);
        std::int64_t state = 0;
        for (const auto& rank : train_on_ranks(one, 4, 2)) {
            CHECK(distance(rank.parameters, alone.parameters) < 0.01);
            CHECK(distance(rank.losses, alone.losses) < 0.01);
            CHECK(rank.state_bytes < 0.7 * static_cast<double>(alone.state_bytes));
            state += rank.state_bytes;
        }
        CHECK(state >= alone.state_bytes);
    }
}

TEST_CASE("adapters of layers of which ranks have parts learn what they learn in one process") {
    const Sets everywhere{"lora.rank=2", "lora.targets=[\"*\"]"};
    auto llama = as_llama;
    llama.insert(llama.end(), everywhere.begin(), everywhere.end());
    check_all({{"gpt", "causal_lm", 2, everywhere, 2},
               {"gpt", "causal_lm", 2, llama, 2},
               {"t5", "seq2seq", 4, {"lora.rank=2", "train.recompute=layers"}, 2, 1, true},
               {"bert",
                "classification",
                2,
                {"lora.rank=3", "optimizer.algorithm=lamb", "optimizer.backend=naive"},
                2}});
}

TEST_CASE("the loss of words of which ranks have parts is that of all words") {
    const Sets smooth{"loss.label_smoothing=0.1", "loss.z_loss=0.001"};
    const auto with_loss = [&](const std::string& backend, Sets more) {
        more.push_back("loss.backend=" + backend);
        return more;
    };
    check_all({{"gpt", "causal_lm", 2, with_loss("naive", smooth), 2},
               {"gpt", "causal_lm", 4, with_loss("torch", {"model.heads=4", "model.vocab_size=52"}), 4},
               {"t5", "seq2seq", 2, with_loss("fused", smooth), 2},
               {"bert", "masked_lm", 2, with_loss("naive", {"task.project_all=true"}), 2},
               {"bert", "masked_lm", 2, with_loss("fused", smooth), 2}});
}
