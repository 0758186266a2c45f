// Folders of Hugging Face's that no run left, where a command takes a trained model. What they must say is
// what the run says whose model was copied; folders that transformers wrote only have to answer.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

// As job.toml has them, which a folder says nothing of.
const Words as_trained{"runtime.threads=1",
                       "attention.backend=torch",
                       "normalization.backend=torch",
                       "activation.backend=torch",
                       "linear.backend=torch",
                       "loss.backend=torch",
                       "precision.backend=torch/fp32",
                       "data_loader.backend=torch",
                       "batch.size=4"};

Words with_sets(Words words, const Words& sets = {}) {
    for (const auto* all : {&as_trained, &sets})
        for (const auto& set : *all) words.insert(words.end(), {"--set", set});
    return words;
}

// RUN/model under another name.
std::string copied(const TinyJob& job, const std::string& run, const std::string& name = "somebody's@model") {
    fs::copy(job.run_folder(run) + "/model", job.file(name));
    return job.file(name);
}

json without_name(json scores) {
    scores.erase("run");
    return scores;
}

void check_same(const TinyJob& job, const std::string& run, const std::string& rows, const Words& sets = {}) {
    const auto folder = copied(job, run), of_run = job.run_folder(run);
    const Words texts{"the film is lovely", "a dull plot and a cold story", "this was so warm"};
    auto both = [&](Words words) {
        words.insert(words.begin() + 1, of_run);
        const auto of_the_run = run_json(with_sets(words));
        words[1] = folder;
        return std::pair(of_the_run, run_json(with_sets(words, sets)));
    };
    const auto [evaluated, again] = both({"evaluate", rows});
    CHECK(without_name(evaluated) == without_name(again));
    CHECK(again["run"] == folder);
    if (evaluated.contains("perplexity")) return;
    Words predict{"predict"};
    predict.insert(predict.end(), texts.begin(), texts.end());
    const auto [predicted, once_more] = both(predict);
    CHECK(predicted == once_more);
    CHECK(predicted["predictions"].size() == texts.size());
}

void change_config(const std::string& folder, const json& patch) {
    auto config = json_of(folder + "/config.json");
    config.merge_patch(patch);
    std::ofstream(folder + "/config.json") << config.dump();
}

}  // namespace

TEST_CASE("a model that was copied out of its run answers and scores as the run does") {
    const TinyJob job;
    const auto rows = job.write("labels.tsv",
                                "text\tlabel\nthe film is lovely\tgood\nthe plot is dull\tbad\n"
                                "this was a warm story\tgood\nbut so cold\tbad\n");
    SECTION("a classifier") {
        job.trained("run");
        check_same(job, "run", rows);
    }
    SECTION("of pairs") {
        const auto pairs =
            job.write("pairs.tsv",
                      "premise\thypothesis\tlabel\nthe film\tis lovely\tgood\n"
                      "the plot\tis dull\tbad\nthe plot\tis cold\tbad\nthe film\tis warm\tgood\n");
        job.trained("run", {"data.train=[\"" + pairs + "\"]", "data.eval=[\"" + pairs + "\"]",
                            "data.text_column=premise", "data.pair_column=hypothesis"});
        const auto scores = run_json({"evaluate", job.run_folder("run"), pairs});
        const auto folder = copied(job, "run");
        CHECK(without_name(run_json(with_sets({"evaluate", folder, pairs}))) == without_name(scores));
        const auto told = run(with_sets({"evaluate", folder, pairs}));
        CHECK_THAT(told.err, contains(pairs + ": taking the column 'premise' for the text, 'hypothesis' for "
                                              "its second text; otherwise --set data.text_column=COLUMN, "
                                              "--set data.pair_column=COLUMN\n"));
    }
    SECTION("labels that do not exclude each other") {
        const auto many =
            job.write("many.tsv", "text\tkind\tharsh\nthe film is lovely\t1\t0\na dull plot\t0\t1\n");
        job.trained("run", {"task.kind=multi_label", "task.labels=[kind,harsh]",
                            "data.train=[\"" + many + "\"]", "data.eval=[\"" + many + "\"]"});
        check_same(job, "run", many);
    }
    SECTION("labels of words") {
        const auto words = job.write("words.txt", "the O\nfilm B-THING\n\na O\nplot B-THING\n");
        job.trained("run", {"task.kind=token_classification", "task.labels=[O,B-THING]",
                            "data.train=[\"" + words + "\"]", "data.eval=[\"" + words + "\"]"});
        check_same(job, "run", words);
    }
    SECTION("numbers, by the scale that they were learnt with") {
        const auto prices =
            job.write("prices.tsv", "text\tprice\nthe film is lovely\t1000\na dull plot\t40\n");
        job.trained("run", {"task.kind=regression", "task.labels=[]", "data.label_column=price",
                            "data.train=[\"" + prices + "\"]", "data.eval=[\"" + prices + "\"]"});
        check_same(job, "run", prices);
    }
    SECTION("hidden words") {
        const auto texts = job.write("texts.txt", "the film is lovely and the plot is dull\na warm story\n");
        job.trained("run", {"task.kind=masked_lm", "task.labels=[]", "data.train=[\"" + texts + "\"]",
                            "data.eval=[\"" + texts + "\"]"});
        check_same(job, "run", texts, {"run.seed=3"});
    }
}

TEST_CASE("generate takes the folder of a language model") {
    const TinyJob job;
    const auto outcome =
        job.trained("run", {"model.type=gpt", "task.kind=causal_lm", "task.labels=[]", "train.steps=2"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Words greedy{"--prompt", "the film", "--temperature", "0", "--max-tokens", "5"};
    Words of_run{"generate", job.run_folder("run")}, of_folder{"generate", copied(job, "run")};
    for (auto* words : {&of_run, &of_folder}) words->insert(words->end(), greedy.begin(), greedy.end());
    const auto expected = run_json(with_sets(of_run))["samples"];
    CHECK(run_json(with_sets(of_folder))["samples"] == expected);
    check_refused(run({"predict", job.file("somebody's@model"), "a"}), {"was trained for causal_lm"});
}

TEST_CASE("folders that transformers wrote answer") {
    const TinyJob job;
    std::string vocabulary = "<s>\n<pad>\n</s>\n[UNK]\n[MASK]\n[CLS]\n[SEP]\n[PAD]\n";
    for (int i = 8; i < 60; ++i) vocabulary += "word" + std::to_string(i) + "\n";
    const auto folder = [&](const std::string& name) {
        const auto copy = job.file(name);
        fs::copy(source_dir() / "tests/fixtures" / name, copy);
        job.write(name + "/vocab.txt", vocabulary);
        return copy;
    };
    for (const std::string name :
         {"transformers_roberta_classification", "transformers_distilbert_classification"}) {
        const auto told = run_json({"predict", folder(name), "word9 word10"})["predictions"][0];
        CHECK(told["label"].get<std::string>().starts_with("LABEL_"));
        CHECK(told["probabilities"].size() == 3);
    }
    const auto texts = job.write("texts.txt", "word9 word10 word11 word12\n");
    for (const std::string name : {"transformers_roberta_masked_lm", "transformers_distilbert_masked_lm",
                                   "transformers_gpt2", "transformers_llama"}) {
        INFO(name);
        const auto outcome = run({"evaluate", folder(name), texts});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.out, contains("perplexity"));
    }
    for (const std::string name : {"transformers_t5", "transformers_t5_gated"}) {
        const auto outcome = run({"generate", folder(name), "--prompt", "word9", "--max-tokens", "3", "--set",
                                  "batch.max_length=24", "--set", "model.max_positions=24"});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
    }
    check_refused(run({"evaluate", folder("transformers_tiny"), texts}),
                  {"/config.json: error: architectures: 'BertForPreTraining' is not understood; expected ",
                   "DistilBert", "GPT2LMHeadModel"});
}

TEST_CASE("a folder's labels and columns are found as its files have them") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto folder = copied(job, "run");
    const auto named = job.write("named.csv",
                                 "id,review,verdict\n1,the film is lovely and so warm,good\n"
                                 "2,the plot is dull but clever,bad\n3,a cold story,good\n");
    const auto plain = job.write("plain.tsv",
                                 "text\tlabel\nthe film is lovely and so warm\tgood\n"
                                 "the plot is dull but clever\tbad\na cold story\tgood\n");
    const auto expected = run_json({"evaluate", folder, plain});
    const auto guessed = run_json({"evaluate", folder, named});
    CHECK(guessed["loss"] == expected["loss"]);
    const auto told = run({"evaluate", folder, named});
    CHECK_THAT(told.err,
               contains("named.csv: taking the column 'review' for the text, 'verdict' for the label; "
                        "otherwise --set data.text_column=COLUMN, --set data.label_column=COLUMN\n"));
    const auto said = run({"evaluate", folder, named, "--set", "data.label_column=verdict", "--set",
                           "data.text_column=nothing"});
    CHECK(said.code == 2);
    CHECK_THAT(said.err, contains("nothing"));
    // Classes without names, as transformers have them.
    change_config(folder, {{"id2label", nullptr}, {"label2id", nullptr}, {"problem_type", nullptr}});
    CHECK(run_json({"predict", folder, "a film"})["predictions"][0]["probabilities"].size() == 2);
    CHECK(run_json({"predict", folder, "a film"})["predictions"][0]["probabilities"].contains("LABEL_1"));
    CHECK(run_json({"predict", folder, "a film", "--set",
                    "task.labels=[no,yes]"})["predictions"][0]["probabilities"]
              .contains("yes"));
}

TEST_CASE("what is neither a run nor such a folder, and a folder that cannot answer, are told by name") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto folder = copied(job, "run", "there");
    const auto file = folder + "/config.json";
    const auto refused = [&](const Words& parts) {
        check_refused(run({"predict", folder, "a film"}), parts);
    };
    const auto config = bytes_of(file);
    const auto with = [&](const json& patch) {
        job.write("there/config.json", config);
        change_config(folder, patch);
    };
    for (const std::string command : {"predict", "evaluate"}) {
        const auto none = job.file("none");
        check_refused(
            run({command, none, job.file("rows.tsv")}),
            {none + ": error: there is no such folder; expected the folder of a run, as `switchyard "
                    "train --run` writes it, or a Hugging Face folder, with config.json, "
                    "model.safetensors and a tokenizer"});
    }
    check_refused(run({"predict", folder + "@best", "a film"}),
                  {folder + "@best: error: " + folder +
                   " is a Hugging Face folder, which has no checkpoints; expected " + folder});
    with({{"architectures", {"BertModel"}}});
    refused(
        {file + ": error: architectures: 'BertModel' is not understood; expected ForSequenceClassification"});
    with({{"architectures", nullptr}});
    refused({file + ": error: architectures: does not name one class of transformers"});
    with({{"problem_type", "ranking"}});
    refused({file + ": error: problem_type: is 'ranking'; expected single_label_classification, "
                    "multi_label_classification or regression"});
    with({{"id2label", {{"1", nullptr}, {"7", "good"}}}});
    refused(
        {file + ": error: id2label: has '7' among its 2 names; expected one for each number from 0 to 1"});
    with({{"id2label", {{"1", 5}}}});
    refused({file + ": error: id2label: has the number 5 for the number 1; expected a text"});
    with({{"id2label", {{"1", "bad"}}}});
    refused({file + ": id2label: error: task.labels: the label \"bad\" appears twice"});
    with({{"id2label", {{"2", "great"}}}});
    refused(
        {"model.safetensors: tensor 'classifier.weight' has shape [2, 32], but classifier.weight of the "
         "configured model has [3, 32]"});
    with({{"hidden_act", "swoosh"}});
    refused({folder + ": error: model.from: " + file + ": hidden_act: 'swoosh' is not one of "});
    job.write("there/config.json", "[");
    refused({file + ":1:2: error: not valid JSON"});
    // Weights of the encoder alone: nothing that was trained would answer.
    with({{"architectures", {"BertForTokenClassification"}}});
    job.trained("words", {"train.steps=1", "task.kind=masked_lm", "task.labels=[]"});
    fs::copy_file(job.run_folder("words") + "/model/model.safetensors", folder + "/model.safetensors",
                  fs::copy_options::overwrite_existing);
    refused({folder +
             "/model.safetensors: error: has no tensor for classifier.weight, classifier.bias, the head "
             "of token_classification: it would answer by chance; expected the weights"});
    fs::remove(folder + "/vocab.txt");
    refused({folder + ": is a folder without a tokenizer; expected tokenizer.json"});
    fs::remove(folder + "/model.safetensors");
    job.write("there/vocab.txt", bytes_of(job.file("vocab.txt")));
    refused({folder, "model.safetensors"});
    job.write("there/adapter_config.json", "{}");
    fs::remove(file);
    refused({folder + ": error: is an adapter, of which `switchyard merge` makes a whole model"});
}

TEST_CASE("names of a folder and of its labels are what they are, whatever they hold") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto folder = copied(job, "run", "a \"quoted\" = [name] \\ \n\033[35m'ü'");
    change_config(folder,
                  {{"id2label", {{"0", "\"no\"\n\033[2J \xe2\x80\xae = ["}, {"1", " 'yes' \\ # ]"}}}});
    const auto told = run_json({"predict", folder, "a film"})["predictions"][0]["probabilities"];
    CHECK(told.contains("\"no\"\n\033[2J \xe2\x80\xae = ["));
    CHECK(told.contains(" 'yes' \\ # ]"));
    const auto no_text = copied(job, "run", "no UTF-8 \xff");
    const auto outcome = run({"predict", no_text, "a film"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("\\xff: ") && contains("UTF-8"));
}
