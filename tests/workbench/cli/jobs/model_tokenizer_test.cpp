// A job without a tokenizer of its own takes that of the folder of its weights, and keeps it.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

std::string fixture(const std::string& name) {
    return (source_dir() / "tests/fixtures/tokenizers" / name).string();
}

const Words large{"model.vocab_size=700"};

// job.toml without its vocabulary.
void forget_vocabulary(const TinyJob& job) {
    auto text = bytes_of(job.file("job.toml"));
    const std::string line = "vocabulary = \"vocab.txt\"\n";
    text.erase(text.find(line), line.size());
    job.write("job.toml", text);
}

}  // namespace

TEST_CASE("a model's own tokenizer is taken, told, kept, and used again") {
    const TinyJob job;
    const auto first =
        job.trained("first", with(large, {"data.vocabulary=\"" + fixture("wordpiece.json") + "\""}));
    REQUIRE(first.code == 0);
    const auto given = bytes_of(fixture("wordpiece.json"));
    CHECK(bytes_of(job.file("first/tokenizer/tokenizer.json")) == given);
    CHECK(bytes_of(job.file("first/model/tokenizer.json")) == given);
    CHECK_FALSE(fs::exists(job.file("first/vocab.txt")));

    forget_vocabulary(job);
    const auto model = job.file("first/model");
    const auto own = with(large, {"train.weights=\"" + model + "\""});
    const auto line = model + "/tokenizer.json, the tokenizer of train.weights";
    const auto second = job.trained("second", with(own, {"train.checkpoint_every=4"}));
    REQUIRE(second.code == 0);
    CHECK_THAT(second.err, contains("tokenizer: " + line));
    CHECK(bytes_of(job.file("second/tokenizer/tokenizer.json")) == given);
    Words plan{"plan", job.file("job.toml")};
    for (const auto& set : own) plan = with(plan, {"--set", set});
    CHECK_THAT(run(plan).out, contains("tokenizer: " + line));

    // The run stands alone from here on.
    const auto before = run({"predict", job.file("second"), "a good film"});
    CHECK(before.code == 0);
    fs::remove_all(job.file("first"));
    CHECK(run({"predict", job.file("second"), "a good film"}).out == before.out);
    const auto more = with(own, {"train.checkpoint_every=4", "train.steps=12"});
    const auto resumed = job.trained("second", more, {"--resume"});
    CHECK(resumed.code == 0);
    // The copy that is read instead is the same tokenizer: no change to tell and to write down.
    CHECK_THAT(resumed.err, contains("train.steps: was ") && !contains("data.vocabulary: was"));
    CHECK_THAT(bytes_of(job.file("second/changes.jsonl")),
               contains("train.steps") && !contains("data.vocabulary"));
    CHECK(bytes_of(job.file("second/tokenizer/tokenizer.json")) == given);
    check_refused(run(job.train("third", own)), {"train.weights"});
}

TEST_CASE("a tokenizer that the model or the task cannot take is refused before training") {
    const TinyJob job;
    const auto named = [&](const std::string& name) { return "data.vocabulary=\"" + fixture(name) + "\""; };
    check_refused(run(job.train("run", {named("wordpiece.json")})),
                  {"has ", " pieces, but model.vocab_size is 64"});
    check_refused(run(job.train("run", {named("pairs.model"), "model.vocab_size=700", "task.kind=masked_lm",
                                        "task.labels=[]", "data.train=[\"" + job.file("rows.tsv") + "\"]"})),
                  {"data.vocabulary: the tokenizer has no mask token"});
    job.write("tokenizer.json", R"({"model": {"type": "BPE", "dropout": 0.5, "vocab": {}, "merges": []}})");
    check_refused(run(job.train("run", {"data.vocabulary=\"" + job.file("tokenizer.json") + "\""})),
                  {"data.vocabulary: " + job.file("tokenizer.json") + ": model.dropout: "});
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}
