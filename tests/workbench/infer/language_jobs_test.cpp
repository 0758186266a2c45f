// Language models from training to writing: what is learnt by heart comes back, a model that knows nothing
// has the vocabulary's size as its perplexity.
#include "json_schema.h"
#include "language_job.h"

#include <set>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words by_heart{"train.steps=150"};

// Sets every weight of a run's model to zero: 8 bytes say how long the header is, the values follow it.
void forget(const std::string& model) {
    auto bytes = bytes_of(model);
    std::size_t header = 0;
    for (std::size_t i = 0; i < 8; ++i)
        header += static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(8 + header), bytes.end(), '\0');
    std::ofstream(model, std::ios::binary) << bytes;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

TEST_CASE("a model that knows nothing has the vocabulary's size as its perplexity") {
    const LanguageJob job;
    const JsonSchema schema(source_dir() / "docs/schema/summary.json");
    const std::map<std::string, double> vocabularies{{"gpt", 16}, {"t5", 261}, {"bert", 64}};
    for (const auto& [name, size] : vocabularies) {
        INFO(name);
        job.trained(name, name, {"optimizer.lr=0"});
        forget(job.file(name + "/model/model.safetensors"));
        const auto outcome = job.trained(
            name, name + "0", {"optimizer.lr=0", "train.weights=" + quoted(job.file(name + "/model"))});
        const auto summary = job.summary(name + "0");
        CHECK(schema.faults(summary) == Words{});
        CHECK(summary["eval"]["perplexity"].get<double>() == Approx(size).epsilon(1e-6));
        CHECK(summary["train_loss"].get<double>() == Approx(std::log(size)).epsilon(1e-6));
        CHECK_THAT(outcome.out, contains("perplexity "));
        CHECK_THAT(bytes_of(job.file(name + "0/metrics.jsonl")), contains("\"eval_perplexity\":"));
    }
}

TEST_CASE("a T5 leaves its pieces under the name by which transformers looks for them") {
    const LanguageJob job;
    const auto pieces = bytes_of(source_dir() / "tests/fixtures/tokenizers/unigram.model");
    const auto train = [&](const std::string& found) {
        job.files().write(found, pieces);
        job.trained("t5", "run_of_" + found,
                    {"data.tokenizer=sentencepiece", "data.vocabulary=" + quoted(job.file(found)),
                     "model.vocab_size=2000"});
        return job.file("run_of_" + found);
    };
    for (const std::string found : {"tokenizer.model", "spiece.model"}) {
        const auto run = train(found);
        CHECK(bytes_of(run + "/tokenizer/" + found) == pieces);
        CHECK(bytes_of(run + "/model/spiece.model") == pieces);
        CHECK_FALSE(fs::exists(run + "/model/tokenizer.model"));
    }
}

TEST_CASE("texts in one block are told as if each were alone") {
    const LanguageJob job;
    const Words still{"optimizer.lr=0", "train.steps=1"};
    job.trained("gpt", "packed", still);
    auto alone = still;
    alone.insert(alone.end(), {"data.blocks=none", "batch.layout=padded"});
    job.trained("gpt", "alone", alone);
    const auto packed = job.summary("packed")["eval"], padded = job.summary("alone")["eval"];
    CHECK(packed["labels"] == padded["labels"]);
    CHECK(packed["labels"] == 7 + 8 + 3 + 9 + 4);  // tokens of the molecules, and an eos each
    CHECK(packed["loss"].get<double>() == Approx(padded["loss"].get<double>()).epsilon(1e-5));
}

TEST_CASE("a loss that projects by itself gives perplexity and no accuracy") {
    const LanguageJob job;
    job.trained("gpt", "whole", {"optimizer.lr=0"});
    const auto whole = job.summary("whole")["eval"];
    const auto outcome = run(with_sets({"train", job.file("gpt.toml"), "--run", job.file("fused")},
                                       {"optimizer.lr=0", "loss.projection=true", "loss.backend=naive"}));
    if (outcome.code != 0) {
        CHECK_THAT(outcome.err, contains("projection"));  // no plugin here has one
        return;
    }
    const auto fused = job.summary("fused")["eval"];
    CHECK(fused["loss"].get<double>() == Approx(whole["loss"].get<double>()).epsilon(1e-5));
    CHECK_FALSE(fused.contains("accuracy"));
    CHECK(whole.contains("accuracy"));
}

TEST_CASE("what a gpt has learnt by heart it writes, and its draws follow the seed alone") {
    const LanguageJob job;
    job.trained("gpt", "run", by_heart);
    CHECK(job.summary("run")["eval"]["perplexity"].get<double>() <
          1.6);  // which of four comes is not to be known
    CHECK(bytes_of(job.file("run/vocab.txt")) ==
          "<pad>\n<bos>\n<eos>\n<unk>\n<mask>\n(\n)\n1\n=\nC\nO\n[nH]\nc\n");
    CHECK(job.written("run", {"--prompt", "c1", "--temperature", "0"}) == Words{"c1ccccc1"});
    CHECK(job.written("run", {"--prompt", "C[nH]", "--temperature", "0"}) == Words{"C[nH]C"});
}

TEST_CASE("a trained model's config.json names its tokenizer's special tokens") {
    const LanguageJob job;
    const auto saved = [&](const char* name) {
        job.trained(name, name);
        return json_of(fs::path(job.file(name)) / "model" / "config.json");
    };
    const auto gpt = saved("gpt"), t5 = saved("t5"), bert = saved("bert");
    for (const auto* config : {&gpt, &t5}) {
        CHECK(config->at("pad_token_id") == 0);
        CHECK(config->at("bos_token_id") == 1);
        CHECK(config->at("eos_token_id") == 2);
    }
    CHECK(t5["decoder_start_token_id"] == 0);
    CHECK(bert["pad_token_id"] == 0);
    CHECK_FALSE(bert.contains("bos_token_id"));
}

TEST_CASE("texts of data.eval that are in data.train too are told") {
    const LanguageJob job;
    const auto outcome = job.trained("gpt", "run");
    CHECK_THAT(outcome.err, contains("warning: data.eval: 4 of 4 texts are also in data.train"));
    const auto held_out = job.trained("bert", "bert");
    CHECK_THAT(held_out.err, !contains("too"));
}

TEST_CASE("the same seed writes the same, in any batch, and another seed something else") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=20"});
    const Words asked{"--samples", "9", "--seed", "3"};
    const auto first = job.written("run", asked);
    CHECK(first.size() == 9);
    CHECK(std::set<std::string>(first.begin(), first.end()).size() > 1);
    CHECK(job.written("run", asked) == first);
    CHECK(job.written("run", {"--samples", "9", "--seed", "3", "--set", "batch.size=5"}) == first);
    CHECK(job.written("run", {"--samples", "9", "--seed", "3", "--set", "batch.layout=padded", "--set",
                              "data.blocks=none"}) == first);
    CHECK(job.written("run", {"--samples", "9", "--seed", "4"}) != first);
    CHECK(job.written("run", {"--samples", "9", "--seed", "3", "--max-tokens", "2"})[0].size() <= 2 * 4);
}

TEST_CASE("the share of well bracketed molecules is printed last") {
    const LanguageJob job;
    job.trained("gpt", "run", by_heart);
    const auto lines = job.written("run", {"--samples", "20", "--top-k", "1", "--check-smiles"});
    REQUIRE(lines.size() == 21);
    CHECK(lines.back() == "well bracketed: 20 of 20 (100.0 %)");
    const auto json = run_json({"generate", job.file("run"), "--samples", "4", "--max-tokens", "3", "--top-k",
                                "1", "--check-smiles"});
    CHECK(JsonSchema(source_dir() / "docs/schema/generate.json").faults(json) == Words{});
    CHECK(json["samples"].size() == 4);
    CHECK(json["well_bracketed_share"] == 0.0);  // cut off after three tokens
    CHECK(json["samples"][0]["tokens"] == 3);
    CHECK(json["samples"][0]["fault"] == "is not ended");
}

TEST_CASE("what a t5 has learnt by heart it answers") {
    const LanguageJob job;
    job.trained("t5", "run", by_heart);
    const std::map<std::string, std::string> pairs{
        {"dog", "Hund"}, {"cat", "Katze"}, {"bird", "Vogel"}, {"cow", "Kuh"}};
    for (const auto& [english, german] : pairs)
        CHECK(job.written("run", {"--prompt", english, "--temperature", "0"}) == Words{german});
    // A line of a file for each line of the answer.
    job.files().write("many.txt", "cow\ndog\nbird\n");
    CHECK(job.written("run", {"--prompts", job.file("many.txt"), "--temperature", "0"}) ==
          Words{"Kuh", "Hund", "Vogel"});
    const auto json = run_json({"generate", job.file("run"), "--prompts", job.file("many.txt"),
                                "--temperature", "0", "--samples", "2"},
                               0);
    REQUIRE(json["samples"].size() == 6);
    CHECK(json["samples"][3]["prompt"] == "dog");
    CHECK(json["samples"][3]["text"] == "Hund");
    // Answers that are all right, of too few words for BLEU; then one of four that has no letter in common.
    const auto scores =
        run_json({"evaluate", job.file("run"), job.file("a.en"), "--targets", job.file("a.de"), "--bleu"}, 0);
    CHECK(schema_faults("evaluate.json", scores) == no_faults);
    CHECK(scores["chrf"].get<double>() == Approx(100.0));
    CHECK(scores["bleu"] == 0.0);
    CHECK(scores["loss"].get<double>() > 0.0);
    const auto other = job.files().write("other.de", "Hund\nKatze\nVogel\nxyz\n");
    const auto less =
        run_json({"evaluate", job.file("run"), job.file("a.en"), "--targets", other, "--bleu"}, 0);
    CHECK(less["chrf"].get<double>() < 100.0);
    CHECK(less["loss"].get<double>() > scores["loss"].get<double>());
}

TEST_CASE("a training that answers texts scores them as evaluate does, and keeps the best by that") {
    const LanguageJob job;
    job.trained(
        "t5", "run",
        {"train.steps=60", "train.eval_every=20", "train.eval_answers=10", "train.keep_best=\"eval.chrf\""});
    const auto summary = job.summary("run");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary) == Words{});
    const auto scored = [&](const std::string& run_name) {
        return run_json({"evaluate", run_name, job.file("a.en"), "--targets", job.file("a.de"), "--bleu"}, 0);
    };
    const auto last = scored(job.file("run"));
    CHECK(summary["eval"]["metrics"]["chrf"] == last["chrf"]);
    CHECK(summary["eval"]["metrics"]["bleu"] == last["bleu"]);
    const auto chrfs = lines_with(job.file("run"), "eval_chrf");
    REQUIRE(chrfs.size() == 3);
    double best = 0.0;
    for (const auto& [step, value] : chrfs) best = std::max(best, value);
    CHECK(scored(job.file("run") + "@best")["chrf"] == best);
    // Weights, batches and random numbers are those of a training without answers.
    job.trained("t5", "without", {"train.steps=60", "train.eval_every=20"});
    CHECK(step_losses(job.file("run")) == step_losses(job.file("without")));
}

TEST_CASE("ranks that have parts of a model answer what the whole model answers") {
    const LanguageJob job;
    const auto [ranks, mesh] = GENERATE(
        std::pair<const char*, Words>{"2",
                                      {"distributed.mesh.tensor=2", "distributed.sequence_parallel=true"}},
        std::pair<const char*, Words>{"2", {"distributed.mesh.pipeline=2"}},
        std::pair<const char*, Words>{"4", {"distributed.mesh.pipeline=2", "distributed.mesh.tensor=2"}});
    INFO(mesh.front() << ", " << ranks << " ranks");
    Words words{"launch", "-n", ranks, "train", job.file("t5.toml"), "--run", job.file("parts")};
    for (const std::string set : {"train.steps=40", "train.eval_every=20", "train.eval_answers=10"})
        words.insert(words.end(), {"--set", set});
    for (const auto& set : mesh) words.insert(words.end(), {"--set", set});
    const auto outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto whole = run_json(
        {"evaluate", job.file("parts"), job.file("a.en"), "--targets", job.file("a.de"), "--bleu"}, 0);
    const auto metrics = job.summary("parts")["eval"]["metrics"];
    CHECK(metrics["chrf"] == whole["chrf"]);
    CHECK(metrics["bleu"] == whole["bleu"]);
    CHECK(metrics["chrf"].get<double>() > 0.0);
}

TEST_CASE("texts that nobody can answer are told before the training, or left out") {
    const LanguageJob job;
    const auto refused = [&](const Words& sets, const Words& parts) {
        Words words{"train", job.file("t5.toml"), "--run", job.file("refused")};
        for (const auto& set : sets) words.insert(words.end(), {"--set", set});
        check_refused(run(words), parts);
        CHECK_FALSE(fs::exists(job.file("refused")));
    };
    refused({"train.eval_answers=2", "data.targets=spans", "data.target_train=[]", "data.target_eval=[]"},
            {"train.eval_answers", "there are no texts to answer with"});
    refused({"train.keep_best=\"eval.bleu\"", "train.eval_every=1"}, {"train.keep_best", "eval.bleu"});
    job.files().write("long.en", "a dog that is longer than the model\n");
    job.files().write("long.de", "Hund\n");
    const Words long_texts{"train.eval_answers=2", "data.eval=[\"" + job.file("long.en") + "\"]",
                           "data.target_eval=[\"" + job.file("long.de") + "\"]"};
    refused(long_texts, {"train.eval_answers", "none of the 1 text"});
    job.files().write("long.en", "a dog that is longer than the model\ncat\n");
    job.files().write("long.de", "Hund\nKatze\n");
    const auto trained = job.trained("t5", "run", long_texts);
    CHECK_THAT(trained.err, contains("note: train.eval_answers: 1 text of 2 too long to be answered\n"));
}

TEST_CASE("rows of a file are written after one by one, but for those that cannot be") {
    const LanguageJob job;
    job.trained("t5", "run", by_heart);
    const auto asked = [&](const Words& more, int code) {
        Words words{"generate", job.file("run"), "--temperature", "0", "--jsonl", "-"};
        words.insert(words.end(), more.begin(), more.end());
        const auto outcome = run(words);
        INFO(outcome.err);
        CHECK(outcome.code == code);
        auto lines = nlohmann::json::array();
        std::istringstream text(outcome.out);
        for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
        CHECK(JsonSchema(source_dir() / "docs/schema/generate.json").faults({{"samples", lines}}) == Words{});
        return std::pair(lines, outcome.err);
    };
    const auto csv = job.files().write("english.csv", "number,english\n1,cow\n2,\"dog\"\n3,bird\n");
    const auto [lines, none] = asked({"--from", csv, "--text-column", "english"}, 0);
    const std::vector<std::pair<std::string, std::string>> expected{
        {"cow", "Kuh"}, {"dog", "Hund"}, {"bird", "Vogel"}};
    REQUIRE(lines.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(lines[i]["prompt"] == expected[i].first);
        CHECK(lines[i]["text"] == expected[i].second);
        CHECK(lines[i]["file"] == csv);
        CHECK(lines[i]["line"] == i + 2);
    }
    const auto bad = job.files().write("bad.txt", "dog\n" + std::string(40, 'x') + "\ncat\n");
    const auto [others, told] = asked({"--prompts", bad}, 1);
    REQUIRE(others.size() == 2);
    CHECK(others[0]["text"] == "Hund");
    CHECK(others[1]["text"] == "Katze");
    CHECK_THAT(told, contains(bad + ":2:1: error: the prompt has 41 tokens; expected at most") &&
                         contains("error: 1 of 3 rows cannot be used and has no result"));
    const auto output = job.files().write("out.jsonl", "old\n");
    CHECK(run({"generate", job.file("run"), "--from", csv, "--jsonl", output}).code == 2);
    CHECK(bytes_of(output) == "old\n");
}

TEST_CASE("a t5 learns spans, whole texts or blocks") {
    const LanguageJob job;
    job.files().write("de.txt", "Hund\nKatze\nVogel\nKuh\n");
    const auto files = "[" + quoted(job.file("de.txt")) + "]";
    for (const std::string blocks : {"none", "fixed"}) {
        job.trained(
            "t5", blocks,
            {"data.targets=spans", "data.train=" + files, "data.eval=" + files, "data.target_train=[]",
             "data.target_eval=[]", "model.vocab_size=270", "data.blocks=" + blocks});
        CHECK(job.summary(blocks)["eval"]["perplexity"].get<double>() > 1.0);
        CHECK(job.summary(blocks)["rows"]["used"] == 4);
    }
}

TEST_CASE("check finds nothing wrong with language models") {
    const LanguageJob job;
    for (const std::string name : {"gpt", "t5", "bert"}) {
        const auto checked = run_json({"diagnose", job.file(name + ".toml")});
        for (const auto& found : checked["diagnoses"]) {
            INFO(name << ": " << found.dump());
            CHECK(found["health"] != "BAD");
        }
        CHECK(checked["healthy"] == true);
    }
}
