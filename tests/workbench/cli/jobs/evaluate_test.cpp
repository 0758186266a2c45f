// `switchyard evaluate`: a trained model on files that it is given.
// What it must say is what training said of the same rows, or follows from `predict`.
#include <cmath>

#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

json evaluated(const Words& words, int code = 0) {
    Words command{"evaluate"};
    command.insert(command.end(), words.begin(), words.end());
    auto scores = run_json(command, code);
    CHECK(schema_faults("evaluate.json", scores) == no_faults);
    return scores;
}

std::string list_of(const std::string& file) { return "[\"" + file + "\"]"; }

}  // namespace

TEST_CASE("a run evaluated on the files of its own evaluation says the same again") {
    const TinyJob job;
    const auto held = job.write("held.tsv",
                                "text\tlabel\nthe film is lovely\tgood\nthe plot is dull\tbad\n"
                                "this was a warm story\tgood\nbut so cold\tbad\n");
    job.trained("run", {"data.eval=" + list_of(held)});
    const auto run_folder = job.run_folder("run");
    const auto summary = json_of(fs::path(run_folder) / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary) == Words{});
    const auto scores = evaluated({run_folder, held});
    CHECK(scores["samples"] == 4);
    CHECK(scores["rows"]["read"] == 4);
    CHECK(scores["files"] == json{held});
    for (const auto& [key, value] : summary["eval"].items()) {
        INFO(key);
        CHECK(scores[key] == value);
    }
    CHECK(evaluated({run_folder + "@last", held})["loss"] == scores["loss"]);
    const auto told = run({"evaluate", run_folder, held});
    CHECK(told.code == 0);
    CHECK_THAT(told.out, contains("4 samples (4 rows read, 0 skipped, 0 cut)\n") && contains("accuracy  ") &&
                             contains("is \\ predicted  bad  good\n") && contains("largest loss:\n"));
}

TEST_CASE("how many rows a run read of its own files says nothing of others, and --set says it of these") {
    const TinyJob job;
    job.trained("run", {"data.max_rows=30"});
    const auto rows = job.file("rows.tsv");
    CHECK(evaluated({job.run_folder("run"), rows})["rows"]["read"] == 60);
    CHECK(evaluated({job.run_folder("run"), rows, "--set", "data.max_rows=7"})["rows"]["read"] == 7);
    const auto quantized = run_json({"quantize", job.run_folder("run"), "--method", "dynamic", "--eval", rows,
                                     "--set", "data.max_rows=7", "--out", job.file("quantized")});
    CHECK(quantized["before"]["samples"] == 7);
}

TEST_CASE("the samples of the largest loss are those of which the right label was the least likely") {
    const TinyJob job;
    std::string rows = "text\tlabel\n";
    Words texts;
    for (const auto* const text : {"the film is lovely", "the plot is dull", "this was a warm story",
                                   "but so cold", "a bright ending"}) {
        rows += std::string(text) + "\tgood\n";
        texts.emplace_back(text);
    }
    const auto file = job.write("good.tsv", rows);
    job.trained("run");
    Words predict{"predict", job.run_folder("run")};
    predict.insert(predict.end(), texts.begin(), texts.end());
    std::vector<std::pair<double, std::string>> expected;
    const auto predictions = run_json(predict)["predictions"];
    for (const auto& line : predictions)
        expected.emplace_back(-std::log(line["probabilities"]["good"].get<double>()), line["label"]);
    std::sort(expected.rbegin(), expected.rend());
    const auto worst = evaluated({job.run_folder("run"), file})["worst"];
    REQUIRE(worst.size() == texts.size());
    for (std::size_t i = 0; i < worst.size(); ++i) {
        CHECK(worst[i]["loss"].get<double>() == Approx(expected[i].first).epsilon(1e-4));
        CHECK(worst[i]["label"] == "good");
        CHECK(worst[i]["predicted"] == expected[i].second);
        CHECK(std::find(texts.begin(), texts.end(), worst[i]["text"].get<std::string>()) != texts.end());
    }
}

TEST_CASE("a regression is evaluated in units of its data, by the scale that it was trained with") {
    const TinyJob job;
    std::string train = "text\tprice\n";
    for (int i = 0; i < 40; ++i)
        train += "the film is " + std::string(i % 2 == 0 ? "lovely" : "dull") + "\t" +
                 std::to_string(i % 2 == 0 ? 900 + i : 100 - i) + "\n";
    const auto rows = job.write("prices.tsv", train);
    const auto held = job.write("held.tsv", "text\tprice\nthe film is lovely\t1000\nthe film is dull\t50\n");
    const auto outcome =
        job.trained("run", {"task.kind=regression", "task.labels=[]", "data.label_column=price",
                            "data.train=" + list_of(rows), "data.eval=" + list_of(held)});
    INFO(outcome.err);
    const auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json")["eval"];
    const auto scores = evaluated({job.run_folder("run"), held});
    CHECK(scores["metrics"] == summary["metrics"]);
    CHECK(scores["loss"] == summary["loss"]);
    CHECK(scores["worst"] == summary["worst"]);
    const auto predicted =
        run_json({"predict", job.run_folder("run"), "the film is lovely", "the film is dull"})["predictions"];
    const double lovely = predicted[0]["values"]["price"], dull = predicted[1]["values"]["price"];
    CHECK(scores["metrics"]["mae"].get<double>() ==
          Approx((std::abs(lovely - 1000.0) + std::abs(dull - 50.0)) / 2.0).epsilon(1e-4));
    CHECK(scores["worst"].size() == 2);
}

TEST_CASE("a run of bytes whose worst texts are no UTF-8 ends with its summary") {
    const TinyJob job;
    std::string rows = "text\tlabel\n";
    for (int i = 0; i < 20; ++i)
        rows += "le caf\xe9 " + std::to_string(i) + (i % 2 == 0 ? "\tgood\n" : "\tbad\n");
    const auto list = "[\"" + job.write("latin1.tsv", rows) + "\"]";
    const auto outcome =
        job.trained("run", {"train.steps=1", "data.tokenizer=bytes", "data.vocabulary=\"\"",
                            "model.vocab_size=261", "data.train=" + list, "data.eval=" + list});
    INFO(outcome.err);
    const auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json");
    CHECK_THAT(summary["eval"]["worst"][0]["text"].get<std::string>(), contains("le caf\xef\xbf\xbd "));
}

TEST_CASE("what cannot be evaluated is told before anything is computed") {
    const TinyJob job;
    job.trained("run");
    const auto run_folder = job.run_folder("run");
    const auto refused = [&](const Words& words, const std::string& expected) {
        Words command{"evaluate", run_folder};
        command.insert(command.end(), words.begin(), words.end());
        const auto outcome = run(command);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(expected));
        CHECK(outcome.out.empty());
    };
    refused({job.file("none.tsv")}, job.file("none.tsv") + ": ");
    refused({job.write("other.tsv", "text\tlabel\na film\tgreat\n")}, "other.tsv:2:8: ");
    refused({job.write("columns.tsv", "words\tlabel\na film\tgood\n")}, "columns.tsv");
    refused({job.write("empty.tsv", "text\tlabel\n")}, "no row can be used for evaluation");
    refused({job.file("rows.tsv"), "--bleu"}, "--bleu: error: ");
    refused({job.file("rows.tsv"), "--set", "data.text_column=words"}, "words");
    CHECK_THAT(run({"evaluate", job.file("nowhere"), job.file("rows.tsv")}).err,
               contains("there is no such folder"));
}

TEST_CASE("with data.eval_fraction = 0 nothing is held out, and nothing is evaluated") {
    const TinyJob job;
    const auto outcome = job.trained("run", {"data.eval_fraction=0"});
    CHECK_THAT(outcome.out, contains("8 steps, evaluation none\n"));
    const auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary) == Words{});
    CHECK(summary["eval"].is_null());
    CHECK(summary["rows"]["used"] == 60);
    CHECK(summary["eval_rows"]["read"] == 0);
    REQUIRE(run({"report", job.run_folder("run")}).code == 0);
}
