// Jobs of tasks that are no classification of texts: each learns something planted, and its summary says so.
#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

const Words learns{
    "train.steps=300",   "train.grad_accumulation_steps=1", "optimizer.lr=1e-3",     "batch.size=8",
    "model.dropout=0.0", "model.attention_dropout=0.0",     "data.eval_fraction=0.2"};

const Words kind_words{"bright", "warm", "funny", "clever", "lovely", "fresh", "brave", "gentle"};
const Words harsh_words{"dull", "cold", "flat", "clumsy", "ugly", "stale", "timid", "harsh"};
const Words things{"film", "story", "actor", "scene", "script", "music", "ending", "camera", "plot", "cast"};

// A text, and how kind and how harsh it is.
struct Text {
    std::string text;
    bool kind = false, harsh = false;
};

std::vector<Text> texts() {
    std::vector<Text> made;
    for (std::size_t i = 0; i < 160; ++i) {
        const std::size_t four = i / 4;  // of each of which there is every kind
        Text text{"the " + things[four % 10] + " is", i % 2 == 1, i % 4 >= 2};
        if (text.kind) text.text += " " + kind_words[four * 3 % 8];
        if (text.harsh) text.text += " " + harsh_words[four * 3 % 8];
        text.text += " and " + things[(four * 3 + 1) % 10];
        made.push_back(text);
    }
    return made;
}

Words with(Words sets) {
    sets.insert(sets.end(), learns.begin(), learns.end());
    return sets;
}

json trained(const TinyJob& job, const std::string& run, const Words& sets) {
    const auto outcome = job.trained(run, with(sets));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto summary = json_of(fs::path(job.run_folder(run)) / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary).empty());
    return summary;
}

}  // namespace

TEST_CASE("an evaluation says which labels are taken for which, as predictions of the same texts do") {
    const TinyJob job;
    const Words labels{"kind", "harsh", "mixed", "plain"};
    std::string rows = "text\tlabel\n";
    Words predict{"predict", job.run_folder("moods")};
    std::vector<std::size_t> right;
    for (const auto& text : texts()) {
        right.push_back(text.kind && text.harsh ? 2 : text.kind ? 0 : text.harsh ? 1 : 3);
        rows += text.text + "\t" + labels[right.back()] + "\n";
        predict.push_back(text.text);
    }
    const auto file = "[\"" + job.write("moods.tsv", rows) + "\"]";
    const auto outcome = job.trained(
        "moods", {"task.labels=[\"kind\",\"harsh\",\"mixed\",\"plain\"]", "data.train=" + file,
                  "data.eval=" + file, "train.steps=30", "optimizer.lr=1e-3", "model.dropout=0.0"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const fs::path folder = job.run_folder("moods");
    const auto summary = json_of(folder / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary).empty());

    std::vector<std::vector<int>> counts(4, std::vector<int>(4));
    const auto predictions = run_json(predict)["predictions"];
    REQUIRE(predictions.size() == right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
        const auto told = std::find(labels.begin(), labels.end(), predictions[i]["label"].get<std::string>());
        ++counts[right[i]][static_cast<std::size_t>(told - labels.begin())];
    }
    CHECK(summary["eval"]["confusion"] == json{{"labels", labels}, {"counts", counts}});

    const auto& metrics = summary["eval"]["metrics"];
    double recalls = 0.0;
    int hits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const double recall = counts[i][i] / 40.0;
        CHECK(metrics["recall/" + labels[i]].get<double>() == Approx(recall));
        recalls += recall;
        hits += counts[i][i];
    }
    CHECK(metrics["macro_recall"].get<double>() == Approx(recalls / 4.0));
    CHECK(summary["eval"]["accuracy"].get<double>() == Approx(hits / 160.0));
    CHECK(metrics.contains("mcc"));
    for (const auto& [name, value] : metrics.items())
        CHECK(lines_with(folder, "eval_" + name).rbegin()->second == value.get<double>());
    CHECK_THAT(outcome.err, contains("macro_f1 ") && contains("mcc ") && !contains("macro_recall"));

    const auto page = folder / "page.html";
    REQUIRE(run({"report", folder.string(), "--html", page.string()}).code == 0);
    CHECK_THAT(bytes_of(page),
               contains("Which labels are taken for which") && contains("<th scope=\"row\">mixed</th>"));
}

TEST_CASE("a regression learns numbers, and tells them in their units") {
    const TinyJob job;
    std::string rows = "text\tprice\n";
    for (const auto& text : texts())
        rows += text.text + "\t" + std::to_string(1000 + (text.kind ? 40 : 0) - (text.harsh ? 10 : 0)) + "\n";
    const auto file = job.write("prices.tsv", rows);
    const auto backend = GENERATE("torch", "naive", "fused");
    const auto summary = trained(job, "prices",
                                 {"task.kind=regression", "task.labels=[]", "data.label_column=price",
                                  "data.train=[\"" + file + "\"]", std::string("loss.backend=") + backend});
    const auto& metrics = summary["eval"]["metrics"];
    CHECK(metrics["r2"].get<double>() > 0.8);
    CHECK(metrics["pearson"].get<double>() > 0.9);
    CHECK(metrics["spearman"].get<double>() > 0.9);
    CHECK(metrics["rmse"].get<double>() < 12.0);
    CHECK_FALSE(summary["eval"].contains("accuracy"));
    const auto predicted =
        run_json({"predict", job.run_folder("prices"), "the film is lovely", "the film is dull"});
    const auto price = [&](int i) { return predicted["predictions"][i]["values"]["price"].get<double>(); };
    CHECK(price(0) == Approx(1040.0).margin(15.0));
    CHECK(price(1) == Approx(990.0).margin(15.0));
    const auto table = run({"predict", job.run_folder("prices"), "the film is lovely"});
    CHECK_THAT(table.out, contains("price"));
}

TEST_CASE("labels that do not exclude each other are learnt from columns and from names") {
    const TinyJob job;
    std::string columns = "text\tkind\tharsh\n", names = "text\tlabel\n";
    for (const auto& text : texts()) {
        columns += text.text + (text.kind ? "\t1" : "\t0") + (text.harsh ? "\t1\n" : "\t0\n");
        names += text.text + "\t" + (text.kind ? "kind" : "") + (text.kind && text.harsh ? "|" : "") +
                 (text.harsh ? "harsh" : "") + "\n";
    }
    const Words task{"task.kind=multi_label", "task.labels=[\"kind\",\"harsh\"]"};
    auto by_columns = task, by_names = task;
    by_columns.push_back("data.train=[\"" + job.write("columns.tsv", columns) + "\"]");
    by_names.push_back("data.train=[\"" + job.write("names.tsv", names) + "\"]");
    by_names.push_back("data.label_separator=\"|\"");
    const auto first = trained(job, "columns", by_columns), second = trained(job, "names", by_names);
    CHECK(first["eval"] == second["eval"]);
    CHECK(first["eval"]["metrics"]["micro_f1"].get<double>() > 0.6);
    CHECK(first["eval"]["metrics"]["label_accuracy"].get<double>() > 0.65);
    const auto predicted = run_json({"predict", job.run_folder("columns"), "the film is lovely ugly and plot",
                                     "the film is and plot"})["predictions"];
    for (const auto& row : predicted) {
        auto likely = json::array();
        for (const char* label : {"kind", "harsh"})
            if (row["probabilities"][label].get<double>() > 0.5) likely.push_back(label);
        CHECK(row["labels"] == likely);
    }
}

TEST_CASE("labels of words are learnt from columns, and entities counted") {
    const TinyJob job;
    std::string sentences;
    for (const auto& text : texts()) {
        std::string word;
        for (const char c : text.text + " ") {
            if (c != ' ') {
                word += c;
                continue;
            }
            const bool thing = std::find(things.begin(), things.end(), word) != things.end();
            sentences += word + " x " + (thing ? "B-THING" : "O") + "\n";
            word.clear();
        }
        sentences += "\n";
    }
    const auto summary =
        trained(job, "words",
                {"task.kind=token_classification", "task.labels=[\"O\",\"B-THING\",\"I-THING\"]",
                 "data.train=[\"" + job.write("words.txt", sentences) + "\"]"});
    CHECK(summary["eval"]["accuracy"].get<double>() > 0.95);
    CHECK(summary["eval"]["metrics"]["entity_f1"].get<double>() > 0.9);
    CHECK(summary["eval"]["metrics"]["entity_f1/THING"] == summary["eval"]["metrics"]["entity_f1"]);
    CHECK_FALSE(summary["eval"].contains("confusion"));

    // What is predicted of the texts is right as often as the evaluation says.
    const auto folder = job.run_folder("words");
    std::vector<std::string> given;
    for (const auto& text : texts()) given.push_back(text.text);
    given.resize(40);
    for (const std::string layout : {"padded", "packed"}) {
        Words words{"predict", folder};
        words.insert(words.end(), given.begin(), given.end());
        words.insert(words.end(), {"--set", "batch.layout=" + layout});
        const auto rows = run_json(words)["predictions"];
        REQUIRE(rows.size() == given.size());
        int all = 0, right = 0;
        for (std::size_t i = 0; i < given.size(); ++i) {
            std::string again;
            for (const auto& word : rows[i]["words"]) {
                const auto text = word["word"].get<std::string>();
                again += (again.empty() ? "" : " ") + text;
                const bool thing = std::find(things.begin(), things.end(), text) != things.end();
                ++all;
                right += word["label"] == (thing ? "B-THING" : "O") ? 1 : 0;
                double sum = 0.0;
                for (const auto& [label, probability] : word["probabilities"].items())
                    sum += probability.get<double>();
                CHECK(sum == Approx(1.0));
            }
            CHECK(again == given[i]);
        }
        CHECK(right > 0.95 * all);
    }
    const auto table = run({"predict", folder, given[0]});
    CHECK_THAT(table.out, contains("/B-THING"));
    const auto cut =
        run({"predict", folder, given[0] + " " + given[1] + " " + given[2], "--set", "batch.max_length=6"});
    CHECK_THAT(cut.err,
               contains("warning: 1 of 1 text longer than 6 tokens: the words beyond have no label"));

    const auto letters =
        job.write("letters.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
    const auto nothing =
        run({"predict", folder, "a b", "a xyz", "--set", "data.vocabulary=\"" + letters + "\"", "--set",
             "data.tokenizer=\"huggingface\""});
    check_refused(nothing, {"text 2: error: the tokenizer makes nothing of 'xyz'"});
}

TEST_CASE("whether a sentence follows another is learnt from documents") {
    const TinyJob job;
    std::string documents;
    const auto all = texts();
    for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t s = 0; s < 4; ++s)
            documents += "the " + things[i % 10] + " is " + kind_words[(i + s) % 8] + "\n";
        documents += "\n";
    }
    const auto summary = trained(job, "documents",
                                 {"task.kind=next_sentence", "data.documents=paragraphs",
                                  "data.train=[\"" + job.write("documents.txt", documents) + "\"]"});
    CHECK(summary["rows"]["used"].get<int>() + summary["eval_rows"]["used"].get<int>() == 40);
    CHECK(summary["eval"].contains("accuracy"));
    CHECK(summary["eval"]["labels"].get<int>() == 3 * summary["eval_rows"]["used"].get<int>());
    CHECK((summary["eval"]["confusion"]["labels"] == Words{"follows", "does not follow"}));

    const std::string first = "the " + things[0] + " is " + kind_words[0],
                      second = "the " + things[0] + " is " + kind_words[1];
    const auto told = run_json({"predict", job.run_folder("documents"), first + "\t" + second,
                                second + "\t" + first})["predictions"];
    const auto follows = [&](int i) { return told[i]["probabilities"]["follows"].get<double>(); };
    CHECK(follows(0) + told[0]["probabilities"]["does not follow"].get<double>() == Approx(1.0));
    CHECK(follows(0) != follows(1));
    CHECK(told[0]["label"] == (follows(0) >= 0.5 ? "follows" : "does not follow"));
}
