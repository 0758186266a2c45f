// What `init` makes of files of data: task, columns and labels; and that the configuration is one that
// trains. To add a case: a file's text, and what the configuration is to say.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

std::string rows(const std::string& header, const Words& row, int count = 12) {
    std::string text = header + "\n";
    for (int i = 0; i < count; ++i) text += row[static_cast<std::size_t>(i) % row.size()] + "\n";
    return text;
}

nlohmann::json value_in(const std::string& file, const std::string& key) {
    return run_json({"config", "show", file})["values"][key]["value"];
}

}  // namespace

TEST_CASE("init tells tasks and columns by names and values, and what it writes has no mistake") {
    struct Case {
        std::string name, text, kind;
        std::map<std::string, std::string> keys;
    };
    const std::vector<Case> cases{
        {"named.csv",
         rows("id,review,sentiment", {"1,a lovely film,good", "2,a dull film,bad"}),
         "classification",
         {{"text_column", "review"}, {"label_column", "sentiment"}}},
        {"guessed.tsv",
         rows("a\tb\tc", {"17\ta lovely film about nothing much\tyes", "18\ta dull film about all\tno"}),
         "classification",
         {{"text_column", "b"}, {"label_column", "c"}}},
        {"pairs.tsv",
         rows("premise\thypothesis\tlabel", {"it rains\tit is wet\tyes", "it rains\tit is dry\tno"}),
         "classification",
         {{"text_column", "premise"}, {"pair_column", "hypothesis"}}},
        {"values.csv",
         "text,score\na,0.5\nb,0.25\nc,1.5\nd,2.5\ne,3.25\nf,4.5\n",
         "regression",
         {{"text_column", "text"}, {"label_column", "score"}}},
        {"lines.jsonl",
         rows("{\"text\": \"zero\", \"label\": 1}",
              {"{\"text\": \"one\", \"label\": 0}", "{\"text\": \"two\", \"label\": 1}"}),
         "classification",
         {{"label_column", "label"}}},
        {"plain.txt", rows("one", {"two", "three"}), "causal_lm", {}},
        {"texts.csv",
         "number,words\n1,one two\n2,three four\n3,five six\n",
         "causal_lm",
         {{"text_column", "words"}}},
    };
    const TinyJob job;
    for (const auto& of : cases) {
        INFO(of.name);
        const auto data = job.write(of.name, of.text), out = job.file(of.name + ".toml");
        const auto outcome = run({"init", data, "--out", out});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        CHECK(value_in(out, "task.kind") == of.kind);
        for (const auto& [key, value] : of.keys) CHECK(value_in(out, "data." + key) == value);
        const auto checked = run({"config", "check", out});
        INFO(checked.err);
        CHECK(checked.code == 0);
    }
    CHECK(value_in(job.file("lines.jsonl.toml"), "task.labels") == nlohmann::json({"0", "1"}));
}

TEST_CASE("a configuration of init trains, with a new model and with one of Hugging Face's") {
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    std::string text = "text,label\n";
    for (int i = 0; i < 40; ++i)
        text += (i % 2 == 0 ? "a lovely film " : "a dull film ") + std::to_string(i) +
                (i % 2 == 0 ? ",good\n" : ",bad\n");
    const auto data = job.write("reviews.csv", text);
    for (const bool pretrained : {false, true}) {
        INFO("pretrained " << pretrained);
        const auto out = job.file(pretrained ? "old.toml" : "new.toml");
        Words words{"init", data, "--out", out};
        if (pretrained) words.insert(words.end(), {"--from", job.run_folder("base") + "/model"});
        REQUIRE(run(words).code == 0);
        const auto trained = run({"train", out, "--run", out + ".run", "--set", "train.steps=2", "--set",
                                  "batch.size=4", "--set", "runtime.auto=priority"});
        INFO(trained.err);
        CHECK(trained.code == 0);
    }
}

// Of 3000 lines of 9 bytes and their end, 27000 for training: blocks of 512, of which 32 are a step.
TEST_CASE("init counts blocks, not lines, where texts are in blocks, and so does training") {
    const TinyJob job;
    std::string text;
    for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(1000 + i) + "\n";
    const auto out = job.file("lines.toml");
    REQUIRE(run({"init", job.write("lines.txt", text), "--out", out}).code == 0);
    CHECK(value_in(out, "batch.max_length") == 512);
    CHECK(value_in(out, "train.eval_every") == 1);
    CHECK_THAT(bytes_of(out), contains("# tokens of a block, which goes on with the next text"));
    CHECK_THAT(bytes_of(out), !contains("longer ones are cut"));
    const auto trained = run({"train", out, "--run", out + ".run", "--set", "train.steps=1", "--set",
                              "batch.size=1", "--set", "model.layers=1", "--set", "model.hidden_size=32",
                              "--set", "model.intermediate_size=32", "--set", "runtime.auto=priority"});
    INFO(trained.err);
    CHECK(trained.code == 0);
    const auto line = trained.err.substr(trained.err.find("data: "));
    const auto samples = std::stol(line.substr(6));
    CHECK((samples > 45 && samples < 60));
    CHECK_THAT(line.substr(0, line.find('\n')), contains(" training samples of 2"));
    CHECK_THAT(line.substr(0, line.find('\n')), contains(" evaluation samples of "));
}

TEST_CASE("init says of texts that are longer than a sample that they are cut") {
    const TinyJob job;
    const auto out = job.file("long.toml");
    const std::string words(600, 'w');
    const auto data = job.write("long.csv", rows("text,label", {words + ",good", words + ",bad"}));
    REQUIRE(run({"init", data, "--out", out}).code == 0);
    CHECK(value_in(out, "batch.max_length") == 512);
    CHECK_THAT(bytes_of(out), contains("# tokens; more than 5 % of these texts are longer and are cut"));
}

TEST_CASE("init overwrites nothing and says what it cannot make a job of") {
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    const auto base = job.run_folder("base") + "/model";
    const auto data = job.write("reviews.csv", rows("text,label", {"a lovely film,good", "a dull film,bad"}));
    const auto there = job.write("there.toml", "mine");
    check_refused(run({"init", data, "--out", there}), {"there.toml: error: is there already"});
    CHECK(bytes_of(there) == "mine");
    const auto out = job.file("out.toml");
    const auto refused = [&](Words words, const std::string& part) {
        words.insert(words.begin(), "init");
        words.insert(words.end(), {"--out", out});
        check_refused(run(words), {part});
        CHECK_FALSE(fs::exists(out));
    };
    refused({job.file("nowhere.csv")}, "nowhere.csv");
    refused({job.write("data.xyz", "a")}, "is of no known form");
    refused({job.write("empty.csv", "")}, "is empty");
    refused({job.write("header.csv", "text,label\n")}, "has no rows to learn from");
    refused({job.write("numbers.csv", rows("a,b", {"1.5,2", "3,4.5"}))}, "no column has texts");
    refused({job.write("many.csv", "text,label\na,b\nc,d\ne,f\ng,h\n")}, "expected labels, or numbers");
    const auto table = [&](const std::string& name, const std::string& text, const std::string& part) {
        refused({job.write(name, text)}, part);
    };
    std::string wide;
    for (const char c : rows("text,label", {"a film,good", "a plot,bad"})) wide += {c, '\0'};
    table("wide.csv", "\xff\xfe" + wide,
          "have NUL bytes, as text in UTF-16 has; expected UTF-8, such as iconv");
    table("latin.csv", rows("text,label", {"a caf\xe9,good", "a plot,bad"}),
          "6 of 12 rows are no UTF-8; expected UTF-8: iconv -f LATIN1 -t UTF-8");
    table("one.csv", rows("text,label", {"a film,good"}),
          "column \"label\" has no other value than \"good\": there is nothing to tell apart");
    table("none.csv", rows("text,label", {"a film,"}), "column \"label\" has no value: ");
    table("commas.csv", rows("text,label", {"a film, or two,good"}),
          "none of its rows can be read; the first one: commas.csv:2:");
    table("semicolons.csv", rows("text;label", {"a film;good", "a plot;bad"}),
          "its columns are \"text;label\": expected a comma between columns in .csv");
    table("several.csv", "text,label\na,x|y\nc,x\ne,y|z\ng,x|z\nh,z\n",
          "5 different texts in 5 rows: expected labels, or numbers, or no column of that name; for several "
          "labels of a row, with \"|\" between, set task.kind = \"multi_label\"");
    refused({data, "--from", "/nowhere"}, "/nowhere/config.json");
    refused({data, "--targets", data, "--from", base}, "needs a model of type t5");
}

TEST_CASE("init tells what it makes do with: rows that cannot be read, and what may be several labels") {
    const TinyJob job;
    const auto said = [&](const std::string& name, const std::string& text) {
        const auto outcome = run({"init", job.write(name, text), "--out", job.file(name + ".toml")});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(run({"config", "check", job.file(name + ".toml")}).code == 0);
        return outcome.out;
    };
    const std::string good = rows("text,label", {"a lovely film,good", "a dull film,bad"});
    CHECK_THAT(
        said("wide.csv", good + "a film, or two,good\n"),
        contains("Rows that cannot be read are left out, 1; the first one: ") && contains("wide.csv:14:"));
    CHECK_THAT(said("several.csv", rows("text,label", {"one,x|y", "two,x", "three,z"})),
               !contains("multi_label"));
    CHECK_THAT(
        said("more.csv", rows("text,label", {"one,x|y", "two,x", "three,y", "four,z", "five,y|z"}, 25)),
        contains("5 classes; for several labels of a row, with \"|\" between, set task.kind = "
                 "\"multi_label\""));
    CHECK_THAT(said("latin.txt", "a caf\xe9\na film\n"), contains("1 of 2 rows are no UTF-8: iconv"));
}
