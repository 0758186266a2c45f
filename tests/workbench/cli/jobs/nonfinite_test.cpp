// What follows from a NaN or Inf, as a user sees it: in training one call of one component makes it, in a
// trained model a weight. To add a case: which call or weight, what is set, what is said.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "json_schema.h"
#include "safetensors_text.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

// A step has three micro-batches and two layers: the 16th call is the second layer's, in forward, and the
// first's in backward, of the second micro-batch of the third step. Its batches have 4 x 12 tokens at least,
// and 64 values each.
Words overflowing(const TinyJob& job, const std::string& call, const Words& more = {}) {
    job.write("overflow.toml",
              "include = [\"job.toml\"]\n[plugins]\npaths = [\"" +
                  (build_dir() / "tests/support/plugins/overflows").string() +
                  "\"]\n[activation]\nbackend = \"overflow\"\n[activation.options.overflow]\n" + call + "\n");
    Words words{"model.activation=relu"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

Outcome trained(const TinyJob& job, const Words& sets, const Words& more = {}) {
    Words words{"train", job.file("overflow.toml"), "--run", job.run_folder("run")};
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

json summary_of(const TinyJob& job) {
    auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json");
    const JsonSchema schema(source_dir() / "docs/schema/summary.json");
    CHECK(schema.faults(summary) == Words{});
    return summary;
}

// TensorBoard's file of the run.
std::string board_of(const TinyJob& job) {
    const auto files = files_below(fs::path(job.run_folder("run")) / "tensorboard");
    REQUIRE(files.size() == 1);
    return files.begin()->second;
}

// The text after "error: ", without the advice.
std::string told(const Outcome& outcome) {
    const auto begin = outcome.err.find("error: ");
    if (begin == std::string::npos) return outcome.err;
    const auto text = outcome.err.substr(begin + 7);
    return text.substr(0, text.find_first_of("\n"));
}

// Sets the first number of a weight of the model that the run has left.
void spoil(const TinyJob& job, const std::string& name, float value = NAN) {
    auto weights = SafetensorsText::of(bytes_of(job.file("run/model/model.safetensors")));
    REQUIRE(weights.header.contains(name));
    const auto begin = weights.header[name]["data_offsets"][0].get<std::size_t>();
    std::memcpy(weights.data.data() + begin, &value, sizeof value);
    job.write("run/model/model.safetensors", weights.text());
}

}  // namespace

TEST_CASE("what is not finite stops the run with code 5, and says what it was and what to do") {
    // A loss scale does not answer for the loss.
    for (const char* const policy : {"precision.backend=torch/fp32", "precision.backend=amp/fp16"}) {
        INFO(policy);
        const TinyJob job;
        const auto outcome = trained(job, overflowing(job, "forward_call = 16", {policy}));
        CHECK(outcome.code == 5);
        CHECK(told(outcome) ==
              "the loss is nan at step 3: lower optimizer.lr, raise train.warmup_ratio, or look with "
              "`switchyard diagnose`; "
              "`switchyard train` with --resume --trace-nonfinite names the layer and operation");
        const auto summary = summary_of(job);
        CHECK(summary.at("status") == "failed");
        CHECK(summary.at("nonfinite_steps") == 1);
        CHECK(summary.at("skipped_steps") == 0);
        CHECK(summary.at("rewinds").empty());
    }
}

TEST_CASE("a gradient that is not finite stops the run too, clipped or not") {
    for (const char* norm : {"optimizer.max_grad_norm=1", "optimizer.max_grad_norm=0"}) {
        INFO(norm);
        const TinyJob job;
        const auto outcome = trained(job, overflowing(job, "backward_call = 16", {norm}));
        CHECK(outcome.code == 5);
        CHECK_THAT(told(outcome), contains("the gradients of "));
        CHECK_THAT(told(outcome), contains(" parameters are not finite, the first that of "));
        CHECK_THAT(told(outcome), contains(" at step 3: lower optimizer.lr"));
        const auto board = board_of(job);
        CHECK_THAT(board, contains("train/loss"));
        const bool measured = board.find("train/grad_norm") != std::string::npos;
        CHECK(measured == (norm == std::string("optimizer.max_grad_norm=1")));
    }
}

TEST_CASE("a step can be skipped, counted and shown") {
    const TinyJob job;
    const auto outcome = trained(job, overflowing(job, "forward_call = 16", {"train.nonfinite=skip"}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("step 3: the loss is nan; skipped\n"));
    const auto summary = summary_of(job);
    CHECK(summary.at("steps") == 8);
    CHECK(summary.at("skipped_steps") == 1);
    CHECK(summary.at("nonfinite_steps") == 1);
    CHECK(summary.at("train_loss").is_number());
    std::ifstream metrics(fs::path(job.run_folder("run")) / "metrics.jsonl");
    int skipped = 0;
    for (std::string line; std::getline(metrics, line);) {
        const auto object = json::parse(line);
        if (!object.contains("skipped")) continue;
        ++skipped;
        CHECK(object.at("step") == 3);
        CHECK(object.at("nonfinite") == "the loss is nan");
    }
    CHECK(skipped == 1);
}

TEST_CASE("a run can go back to its last checkpoint, and tells that it did") {
    const TinyJob job;
    const auto outcome = trained(
        job, overflowing(job, "forward_call = 16", {"train.nonfinite=rewind", "train.checkpoint_every=2"}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("step 3: back to the checkpoint of step 2; data loading continues\n"));
    const auto summary = summary_of(job);
    CHECK(summary.at("steps") == 8);
    CHECK(summary.at("skipped_steps") == 0);
    CHECK(summary.at("rewinds") == json::parse(R"([{"from": 3, "to": 2, "what": "the loss is nan"}])"));
    const auto losses = step_losses(job.run_folder("run"));
    CHECK(losses.size() == 8);
    // A session starts at step 1, and another at step 3.
    for (const char* const start : {"\x10\x01\x3a\x02\x08\x01", "\x10\x03\x3a\x02\x08\x01"})
        CHECK_THAT(board_of(job), contains(start));
}

TEST_CASE("a run that went back keeps its best checkpoint, as its evaluations say") {
    const TinyJob job;
    const auto outcome =
        trained(job, overflowing(job, "forward_call = 44",
                                 {"train.nonfinite=rewind", "train.checkpoint_every=5", "train.eval_every=1",
                                  "train.keep_best=eval.loss", "train.keep_last=1", "optimizer.lr=0.02"}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    const auto summary = summary_of(job);
    REQUIRE(summary.at("rewinds").size() == 1);
    CHECK(summary.at("rewinds")[0].at("to") < summary.at("rewinds")[0].at("from"));
    const fs::path run = job.run_folder("run");
    const auto losses = eval_losses(run);
    CHECK(losses.size() == 8);
    const auto best = std::ranges::min_element(losses, {}, [](const auto& one) { return one.second; });
    const auto kept = json_of(run / "checkpoints/best.json");
    CHECK(kept.at("step") == best->first);
    CHECK(kept.at("value").get<double>() == Approx(best->second));
    CHECK(run_json({"predict", run.string() + "@best", "a dull plot", "--trust"})["predictions"].size() == 1);
}

TEST_CASE("the trace names the layer and the operation, forward and backward, and nothing where nothing is") {
    const TinyJob job;
    auto sets = overflowing(job, "forward_call = 16");
    const auto forward = trained(job, sets, {"--trace-nonfinite"});
    CHECK(forward.code == 5);
    CHECK_THAT(told(forward),
               contains("step 3: encoder.1.feed_forward: activation (test_overflows/overflow), "
                        "forward output y: 1 Inf of "));
    CHECK_THAT(told(forward), contains(" values, float32 [4, "));
    fs::remove_all(job.run_folder("run"));

    sets = overflowing(job, "backward_call = 16");
    const auto backward = trained(job, sets, {"--trace-nonfinite"});
    CHECK(backward.code == 5);
    CHECK_THAT(told(backward),
               contains("step 3: encoder.0.feed_forward: activation (test_overflows/overflow), "
                        "backward, gradient of x: 1 NaN of "));
    fs::remove_all(job.run_folder("run"));

    sets = overflowing(job, "forward_call = 0");
    const auto plain = trained(job, sets);
    const auto losses = step_losses(job.run_folder("run"));
    fs::remove_all(job.run_folder("run"));
    const auto clean = trained(job, sets, {"--trace-nonfinite"});
    INFO(clean.err);
    CHECK(clean.code == 0);
    const auto traced = step_losses(job.run_folder("run"));
    CHECK(traced.size() == losses.size());
    for (const auto& [step, loss] : traced) CHECK(loss == Approx(losses.at(step)).epsilon(1e-4));
}

TEST_CASE("a run that was stopped is traced from its checkpoint") {
    const TinyJob job;
    const auto sets = overflowing(job, "forward_call = 16", {"train.checkpoint_every=2"});
    CHECK(trained(job, sets).code == 5);
    // The count of calls begins anew: its 4th is in the first step after the checkpoint.
    const auto again = overflowing(job, "forward_call = 4", {"train.checkpoint_every=2"});
    const auto traced = trained(
        job, again,
        {"--resume", "--trace-nonfinite", "--allow-change", "activation.options.overflow.forward_call"});
    CHECK(traced.code == 5);
    CHECK_THAT(told(traced), contains("step 3: encoder.1.feed_forward: activation"));
}

TEST_CASE("predict and embed end with the text whose values are no numbers, and files stay as they were") {
    const TinyJob job;
    const auto spoiled = [&](const std::string& name, const Words& sets) {
        fs::remove_all(job.run_folder("run"));
        REQUIRE(job.trained("run", with({"train.steps=1"}, sets)).code == 0);
        spoil(job, name);
    };
    const auto texts = job.write("texts.tsv", "text\na dull plot\na film\n");
    const auto ends = [&](const Words& words, const Words& parts) {
        const auto outcome = run(words);
        INFO(outcome.err);
        CHECK(outcome.code == 5);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains("the first operation whose values are not finite is ") &&
                                    contains("expected other weights, or a precision.backend of more range"));
        for (const auto& part : parts) CHECK_THAT(outcome.err, contains(part));
    };
    const auto folder = job.run_folder("run");
    const auto lines = job.write("out.jsonl", "old\n"), table = job.write("out.npy", "old\n");

    spoiled("classifier.bias", {});
    const std::string probability = ": error: the probability of bad is NaN: nothing can be predicted; ";
    ends({"predict", folder, "a dull plot"}, {"text 1" + probability, ": linear ("});
    ends({"predict", folder, "--from", texts, "--jsonl", lines}, {texts + ":2" + probability});
    CHECK(run({"embed", folder, "a dull plot"}).code == 0);  // it has none of a head's values

    spoiled("bert.embeddings.LayerNorm.bias", {});
    const std::string number = ": error: number 1 of its embedding is NaN: the text cannot be embedded; ";
    ends({"embed", folder, "a dull plot", "--json", lines},
         {"text 1" + number, ": normalization.embedding (torch/torch), "});
    ends({"embed", folder, "--from", texts, "--jsonl", lines}, {texts + ":2" + number});
    ends({"embed", folder, "--from", texts, "--out", table}, {texts + ":2" + number});

    std::string sentences;
    for (int i = 0; i < 20; ++i) sentences += "the O\nlovely GOOD\nfilm O\n\na O\ndull O\nplot O\n\n";
    const auto words = "[\"" + job.write("words.txt", sentences) + "\"]";
    spoiled("classifier.bias", {"task.kind=token_classification", "task.labels=[\"O\", \"GOOD\"]",
                                "data.train=" + words, "data.eval=" + words});
    ends({"predict", folder, "a film", "--json", lines},
         {"text 1: error: the probability of O is NaN: nothing can be predicted; "});
    CHECK(bytes_of(lines) == "old\n");
    CHECK(bytes_of(table) == "old\n");
}

TEST_CASE("an evaluation whose loss is not finite has no other score, and its JSON is that of the schema") {
    const TinyJob job;
    REQUIRE(job.trained("run", {"train.steps=1"}).code == 0);
    spoil(job, "classifier.bias");
    const auto folder = job.run_folder("run"), rows = job.file("rows.tsv");
    const auto scores = run_json({"evaluate", folder, rows}, 5);
    CHECK(schema_faults("evaluate.json", scores) == no_faults);
    CHECK(scores["loss"].is_null());
    CHECK(scores["labels"] == 60);
    for (const char* const score : {"accuracy", "perplexity", "metrics", "confusion"}) {
        INFO(score);
        CHECK_FALSE(scores.contains(score));
    }
    CHECK(scores["worst"][0]["predicted"] == "nan");
    const auto table = run({"evaluate", folder, rows});
    CHECK(table.code == 5);
    CHECK_THAT(table.out, contains("loss") && !contains("accuracy"));
    CHECK_THAT(table.err, contains("the loss of " + folder + " on these files is NaN or Inf"));

    const Words quantize{"quantize", folder, "--method", "weight-int8", "--eval", rows, "--out"};
    const auto told = run_json(with(quantize, {job.file("quantized")}));
    CHECK(schema_faults("quantize.json", told) == no_faults);
    for (const char* const when : {"before", "after"}) {
        CHECK(told[when]["loss"].is_null());
        CHECK_FALSE(told[when].contains("accuracy"));
    }
    const auto within = run(with(quantize, {job.file("none"), "--max-drop", "0.5"}));
    CHECK(within.code == 5);
    CHECK_THAT(within.err, contains("--max-drop: error: the loss of " + folder + " is not finite"));
    CHECK_FALSE(fs::exists(job.file("none")));
}

TEST_CASE("a perplexity that is larger than any number is left out, and what else there is stays") {
    const TinyJob job;
    REQUIRE(job.trained("run", {"train.steps=1", "task.kind=masked_lm", "task.labels=[]"}).code == 0);
    spoil(job, "cls.predictions.bias", 1e6F);
    const auto scores = run_json({"evaluate", job.run_folder("run"), job.file("rows.tsv")});
    CHECK(schema_faults("evaluate.json", scores) == no_faults);
    CHECK(scores["loss"].get<double>() > 1000.0);
    CHECK_FALSE(scores.contains("perplexity"));
    CHECK(scores.contains("accuracy"));
}
