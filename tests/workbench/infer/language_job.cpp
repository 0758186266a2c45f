#include "language_job.h"

#include <sstream>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

constexpr const char* common = R"(
[run]
seed = 5

[runtime]
threads = 1

[train]
steps = 2
schedule = "constant"
warmup_ratio = 0.0
log_every = 1
)";

constexpr const char* gpt = R"(
[model]
type = "gpt"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 16
max_positions = 32
dropout = 0.0
attention_dropout = 0.0

[task]
kind = "causal_lm"

[data]
train = ["mol.smi"]
eval = ["mol.smi"]
tokenizer = "smiles"
blocks = "packed_lm"

[batch]
size = 2
layout = "packed"
)";

constexpr const char* t5 = R"(
[model]
type = "t5"
layers = 1
decoder_layers = 1
hidden_size = 32
heads = 4
head_dim = 8
intermediate_size = 64
vocab_size = 261
max_positions = 16
dropout = 0.0
attention_dropout = 0.0

[task]
kind = "seq2seq"

[data]
train = ["a.en"]
target_train = ["a.de"]
eval = ["a.en"]
target_eval = ["a.de"]
tokenizer = "bytes"

[batch]
size = 4
)";

constexpr const char* bert = R"(
[model]
type = "bert"
layers = 1
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32

[task]
kind = "masked_lm"

[data]
train = ["rows.tsv"]
eval_fraction = 0.2
vocabulary = "vocab.txt"
blocks = "fixed"

[batch]
size = 4
)";

}  // namespace

LanguageJob::LanguageJob() {
    job_.write("gpt.toml", std::string(gpt) + common + torch_slots("1e-2"));
    job_.write("t5.toml", std::string(t5) + common + torch_slots("1e-2"));
    job_.write("bert.toml", std::string(bert) + common + torch_slots("1e-2"));
    job_.write("mol.smi", "CC(=O)O\nc1ccccc1\nC[nH]C\nC1CC(C)C1\n");
    job_.write("a.en", "dog\ncat\nbird\ncow\n");
    job_.write("a.de", "Hund\nKatze\nVogel\nKuh\n");
}

Words with_sets(Words words, const Words& sets) {
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    return words;
}

Outcome LanguageJob::trained(const std::string& name, const std::string& run_name, const Words& sets) const {
    auto outcome = run(with_sets({"train", file(name + ".toml"), "--run", file(run_name)}, sets));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome;
}

nlohmann::json LanguageJob::summary(const std::string& run) const {
    return json_of(fs::path(file(run)) / "summary.json");
}

Words LanguageJob::written(const std::string& run_name, const Words& more) const {
    Words words{"generate", file(run_name)};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    Words lines;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

}  // namespace switchyard::test
