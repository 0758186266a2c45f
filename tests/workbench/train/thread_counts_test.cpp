// A job that is trained on one thread and on several: the same bits where the plan names no slot, and the
// plan names the slots where they need not be. To add a case: a model, large enough that LibTorch's operators
// use threads.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// 64 texts of 40 to 48 tokens, each answered, labelled token by token or as a whole.
class LongTexts final : public SampleSource {
public:
    explicit LongTexts(config::TaskKind kind) : kind_(kind) {}
    std::int64_t size() const override { return 64; }
    std::int64_t length(std::int64_t index) const override {
        const auto tokens = 48 - index % 9;
        return kind_ == config::TaskKind::seq2seq ? 2 * tokens : tokens;
    }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < 48 - index % 9; ++i)
            sample.ids.push_back(1 + (index * 7 + i * i * 3) % 210);
        if (kind_ == config::TaskKind::seq2seq) sample.target_ids = sample.ids;
        if (kind_ == config::TaskKind::classification) {
            sample.labels = {index % 3};
        } else {
            for (const auto id : sample.ids) sample.labels.push_back(id % 3 == 0 ? -100 : 1 + id % 199);
        }
        return sample;
    }

private:
    config::TaskKind kind_;
};

using Sets = std::vector<std::string>;

// Of widths that no vector and no number of threads divides evenly.
Sets model_of(const std::string& type, const std::string& task, const Sets& more = {}) {
    Sets all{"model.type=" + type,
             "task.kind=" + task,
             "model.layers=2",
             "model.hidden_size=104",
             "model.heads=4",
             "model.intermediate_size=248",
             "model.vocab_size=211",
             "model.max_positions=64",
             "batch.max_length=48",
             "batch.size=16",
             "train.steps=4",
             "train.grad_accumulation_steps=2",
             "optimizer.lr=0.01",
             "optimizer.max_grad_norm=1",
             "data_loader.shuffle=false",
             "data_loader.backend=torch",
             "run.deterministic=true",
             "task.labels=[\"a\",\"b\",\"c\"]"};
    if (task != "classification") all.pop_back();
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

Sets with(Sets sets, const std::string& attention, const std::string& rest, const std::string& precision) {
    sets.push_back("attention.backend=" + attention);
    for (const std::string slot : {"normalization", "activation", "loss", "optimizer"})
        sets.push_back(slot + ".backend=" + rest);
    sets.push_back("precision.backend=" + precision);
    sets.push_back(std::string("linear.backend=") + (rest == "torch" ? "torch" : "gemm"));
    return sets;
}

// Every parameter after two steps, by name.
std::vector<std::pair<std::string, at::Tensor>> trained(const Sets& sets, int threads) {
    const auto config = test::configured(sets);
    const LongTexts texts(config.task.kind);
    test::ShortTraining job(sets, texts);
    at::set_num_threads(threads);
    std::vector<Batch> batches(2);
    for (int step = 0; step < 2; ++step) {
        for (auto& batch : batches) {
            while (!job.session.train_loader().next(batch)) continue;  // the end of an epoch
        }
        job.trainer.step(batches);
    }
    at::set_num_threads(1);
    std::vector<std::pair<std::string, at::Tensor>> result;
    for (const auto& parameter : job.session.parameters().all())
        result.emplace_back(parameter.name, parameter.value.detach().clone());
    return result;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// Slots whose bits depend on the number of threads, as the plan of training says.
std::vector<std::string> named(const Sets& sets) {
    const auto config = test::configured(sets);
    const LongTexts texts(config.task.kind);
    const test::ShortTraining job(sets, texts);
    std::vector<std::string> slots;
    for (const auto& row : job.plan.rows) {
        if (row.use.phase != Phase::train) continue;
        for (const auto& note : row.notes) {
            if (note.starts_with("bits depend on runtime.threads: ")) slots.push_back(row.use.slot);
        }
    }
    return slots;
}

const std::vector<Sets>& models() {
    static const std::vector<Sets> all{
        model_of("bert", "classification"), model_of("bert", "masked_lm"),
        model_of("gpt", "causal_lm", {"loss.projection=true"}),
        model_of("gpt", "causal_lm",
                 {"model.norm=rms_norm", "model.positions=rotary", "model.activation=swiglu",
                  "model.kv_heads=2", "batch.layout=packed", "model.tie_embeddings=false"}),
        model_of("t5", "seq2seq")};
    return all;
}

// Of float32, in the plugin gemm: where there are none LibTorch multiplies.
bool has_tiles() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

}  // namespace

TEST_CASE("flash, fused and tiles train to the same bits on any number of threads") {
    if (!has_tiles()) return switchyard::test::skip("no AVX-512: no tiles of float32");
    for (const std::string precision : {"amp/fp32", "amp/bf16"}) {
        for (const auto& model : models()) {
            const auto sets = with(model, "flash", "fused", precision);
            INFO(precision << ", " << model[0] << ", " << model[1]);
            CHECK(named(sets).empty());
            const auto expected = trained(sets, 1);
            for (const int threads : {2, 3}) {
                const auto found = trained(sets, threads);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    INFO(threads << " threads: " << found[i].first);
                    CHECK(same_bits(found[i].second, expected[i].second));
                }
            }
        }
    }
}

TEST_CASE("the plan of a deterministic run names the slots whose bits depend on the number of threads") {
    const auto sets = with(model_of("bert", "classification"), "torch", "torch", "torch/fp32");
    auto slots = named(sets);
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    CHECK(slots == std::vector<std::string>{"activation", "attention", "linear.attention.q,k,v,out",
                                            "linear.classifier", "linear.feed_forward.in",
                                            "linear.feed_forward.out", "linear.pooler", "loss",
                                            "normalization", "normalization.embedding", "optimizer"});
    auto promised_nothing = sets;
    for (auto& one : promised_nothing) {
        if (one == "run.deterministic=true") one = "run.deterministic=false";
    }
    CHECK(named(promised_nothing).empty());
    auto muon = with(model_of("gpt", "causal_lm"), "flash", "fused", "amp/fp32");
    muon.push_back("optimizer.algorithm=muon");
    std::vector<std::string> expected{"optimizer"};
    if (!has_tiles())
        expected.insert(expected.end(), {"linear.attention.q,k,v,out", "linear.feed_forward.in",
                                         "linear.feed_forward.out", "linear.lm_head"});
    CHECK(named(muon) == expected);
}
