// switchyard config show | schema | check, as a user runs them. What each mistake is called is tested in
// tests/kernel/config.
#include "run_switchyard.h"

#include "json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

const char* const ten_mistakes = R"([run]
sed = 1
device = "gpu"
[model]
type = "brt"
layers = -1
heads = "twelve"
[batch]
size = 0
layout = "paded"
[attention]
bakend = "naive"
[optimizer]
algorithm = "adamv"
lr = "fast"
)";

}  // namespace

TEST_CASE(
    "every mistake of a configuration is told in one go, and nothing is printed on the standard output") {
    const auto file = write_temporary("ten.toml", ten_mistakes);
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"config", "check", file}, {"config", "show", file}, {"plan", file}}) {
        const auto outcome = run(command);
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        for (const int line : {2, 3, 5, 6, 7, 9, 10, 12, 14, 15}) {
            CHECK_THAT(outcome.err, contains(file + ":" + std::to_string(line) + ":"));
        }
        CHECK_THAT(outcome.err, contains("10 errors\n"));
        CHECK_THAT(outcome.err, contains("attention.bakend: unknown key; did you mean attention.backend?"));
    }
}

TEST_CASE("an option of a component is checked against what its plugin declares") {
    const auto file = write_temporary("options.toml", "[attention.options.naive]\nnonsense = 3\n");
    const auto outcome = run({"config", "check", file});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains(file + ":2:"));
    CHECK_THAT(outcome.err, contains("nonsense"));
    const auto unknown =
        run({"config", "check", write_temporary("options.toml", "[attention.options.naiv]\nx = 3\n")});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("naive"));
}

TEST_CASE("what is no configuration is said to be none") {
    const auto missing = run({"config", "check", "no-such-file.toml"});
    CHECK(missing.code == 2);
    CHECK(missing.err == "no-such-file.toml: error: cannot be read: No such file or directory\n");
    const auto folder = run({"config", "check", "configs"});
    CHECK(folder.code == 2);
    CHECK(folder.err == "configs: error: is a folder; expected a TOML file\n");
}

TEST_CASE("a text that would hurt the parser is refused before it is parsed") {
    const auto refused = [](const std::string& file, const std::string& text) {
        const auto outcome = run({"plan", file});
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains(file + ":"));
        CHECK_THAT(outcome.err, contains(text));
    };
    refused(write_temporary("deep.toml", "x = " + std::string(10000, '[') + std::string(10000, ']')),
            "nested");
    std::string dots = "a";
    for (int i = 0; i < 10000; ++i) dots += ".a";
    refused(write_temporary("dots.toml", dots + " = 1\n"), "dots");
    refused(write_temporary("text.toml", "run.seed = 1 # \xff\xfe\n"), "UTF-8");
    const auto large = write_temporary("large.toml", "");
    std::filesystem::resize_file(large, 100'000'000);
    refused(large, "100000000");
}

TEST_CASE("a good configuration is said to have no mistakes") {
    for (const char* file :
         {"configs/mixed-layers.toml", "configs/llama-decode.toml", "configs/auto-gpt.toml"}) {
        const auto outcome = run({"config", "check", file});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.out, contains(std::string(file) + ": no mistakes"));
        CHECK_THAT(outcome.err, contains("note: data.train names no file"));
    }
}

TEST_CASE("what this machine lacks for a configuration is noted by config check") {
    const auto check = [](const std::string& set) {
        auto outcome = run({"config", "check", "configs/auto-gpt.toml", "--set", set});
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.out, contains("no mistakes"));
        return outcome.err;
    };
    CHECK_THAT(check("plugins.paths=[\"/nowhere/at/all\"]"),
               contains("/nowhere/at/all: refused at gate path: does not exist; correct the path"));
    CHECK_THAT(check("plugins.disabled=[\"flash\", \"flush\"]"),
               contains("note: --set #1: plugins.disabled: found no plugin called flush\n") &&
                   !contains("called flash\n"));
    // No device is visible to the test, whatever the machine has.
    const auto cuda = run({"config", "check", "configs/auto-gpt.toml", "--set", "run.device=cuda"},
                          {{{"CUDA_VISIBLE_DEVICES", ""}}});
    CHECK(cuda.code == 0);
    CHECK_THAT(cuda.err,
               contains("note: --set #1: run.device: this host has no cuda device: `switchyard plan "
                        "--host` plans for one that has\n"));
}

TEST_CASE("what training would refuse when it starts is found by config check") {
    const auto job = write_temporary("job.toml", R"([task]
kind = "classification"
labels = ["bad", "good"]
[data]
train = ["rows.tsv"]
eval = ["rows.tsv"]
vocabulary = "vocab.txt"
[attention]
backend = "naive"
)");
    const auto write = [&](const std::string& name, const std::string& text) {
        std::ofstream(std::filesystem::path(job).parent_path() / name, std::ios::binary) << text;
    };
    const auto at = [&](const char* name) {
        return (std::filesystem::path(job).parent_path() / name).string();
    };
    write("rows.tsv", "text\tlabel\na film\tgood\n");
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nfilm\n");
    const auto good = run({"config", "check", job});
    INFO(good.err);
    CHECK(good.code == 0);
    CHECK(good.err.empty());
    write("other.tsv", "text\tlabel\na film\tfine\na plot\n");
    write("other.csv", "text;label\n");
    write("a.bin", "PK\x03\x04");
    fs::create_directory(at("empty"));
    write("header.tsv", "text\tlabel\n");
    write("blank.tsv", "text\tlabel\n \tgood\n");
    write("latin.tsv", "text\tlabel\na film\tgood\na caf\xe9\tgood\n");
    write("twice.tsv", "text\ttext\tlabel\na film\ta plot\tgood\n");
    write("utf16.tsv", std::string("\xff\xfet\0e\0x\0t\0\n\0", 12));
    write("mac.tsv", "text\tlabel\ra film\tgood\r");
    write("odd.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncaf\xe9\n");
    write("nul.txt", std::string("[PAD]\na\0b\n", 10));
    write("words.txt", "a\nfilm\n");
    write("again.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\na\n");
    const auto train = [&](const char* name) { return "data.train=[\"" + at(name) + "\"]"; };
    const auto words = [&](const char* name) { return "data.vocabulary=" + at(name); };
    struct Bad {
        std::string set;
        std::vector<std::string> expected;
    };
    const Bad cases[] = {
        {"attention.backend=flashy",
         {"--set #1: error: attention.backend: there is no attention called \"flashy\""}},
        {"precision.backend=nobody/bf16", {"--set #1: error: precision.backend: "}},
        {"data.train=[\"" + at("none.tsv") + "\"]",
         {"--set #1: error: data.train: " + at("none.tsv") + ": cannot be opened"}},
        {"data.train=[\"" + at("other.tsv") + "\"]",
         {at("other.tsv") + ":2:8: error: label 'fine' is none of 'bad', 'good' (task.labels)",
          at("other.tsv") + ":3:7: error: the row has 1 column, expected 2", "2 errors"}},
        {"data.eval=[\"" + at("other.csv") + "\"]",
         {"--set #1: error: data.eval: ", "separated by semicolons"}},
        {train("header.tsv"), {"data.train: no row can be used for training (0 read)"}},
        {train("blank.tsv"), {"data.train: no row can be used for training (1 read)"}},
        {train("latin.tsv"), {at("latin.tsv") + ":3:6: error: is not valid UTF-8 at byte 6"}},
        {train("twice.tsv"),
         {at("twice.tsv") + ":1:1: has 2 columns 'text'; expected one, or a number such as \"#0\""}},
        {train("utf16.tsv"), {at("utf16.tsv") + ":1:1: ", "it is UTF-16: expected UTF-8 (`iconv "}},
        {train("mac.tsv"), {at("mac.tsv") + ":1:1: ", "its lines end with carriage returns"}},
        {"data.train=[\"\"]", {"data.train: expected the name of a file, got an empty text"}},
        {"data.train=[\"/dev/null\"]", {"/dev/null: cannot tell its format from its name"}},
        {words("odd.txt"), {"data.vocabulary: " + at("odd.txt") + ":6: is not valid UTF-8; expected a"}},
        {words("nul.txt"), {"data.vocabulary: " + at("nul.txt") + ":2: holds a NUL byte; expected a"}},
        {words("words.txt"), {"data.vocabulary: " + at("words.txt") + ": has no [UNK]; a BERT"}},
        {words("again.txt"), {at("again.txt") + ":7: 'a' stands on line 6 too"}},
        {"model.vocab_size=6", {"--set #1: error: model.vocab_size: ", "has 7 pieces, but"}},
        {"data.tokenizer=smiles",
         {"data.vocabulary: " + at("vocab.txt") + ":1: expected <pad>, got '[PAD]'"}},
        {"data.text_column=body", {job + ":5:1: error: data.train: ", "has no column 'body'"}},
        {"data.vocabulary=" + at("none.txt"), {"--set #1: error: data.vocabulary: " + at("none.txt")}},
        {"data={train=[\"" + at("none.tsv") + "\"],vocabulary=\"" + at("none.txt") + "\"}",
         {"data.train: " + at("none.tsv") + ": cannot be opened", "data.vocabulary: " + at("none.txt")}},
        {"data.train=[\"none\\nFORGED.tsv\"]", {"/none\\nFORGED.tsv: cannot be opened"}},
        {"data.vocabulary=" + at("empty"), {"is a folder without a tokenizer; expected "}},
        {"train.weights=" + at("a.bin"), {"--set #1: error: train.weights: ", "(pickle)"}},
        {"task.labels=[\"good\"]",
         {"--set #1: error: task.labels: expected the names of at least two classes"}},
        {"task.labels=[\"a\",\"a\"]", {"--set #1: error: task.labels: the label \"a\" appears twice"}},
        {"task.kind=regression", {"error: data.train: ", "has no column '"}},
        {"run.phases=[\"train\"]", {"--set #1: error: run.phases: has no eval"}},
    };
    for (const auto& bad : cases) {
        INFO(bad.set);
        const auto outcome = run({"config", "check", job, "--set", bad.set});
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        for (const auto& part : bad.expected) CHECK_THAT(outcome.err, contains(part));
    }
}

TEST_CASE("a job that holds nothing out for evaluation may begin") {
    const auto job = write_temporary("job.toml", R"([task]
kind = "causal_lm"
[model]
type = "gpt"
vocab_size = 261
[data]
train = ["text.txt"]
tokenizer = "bytes"
eval_fraction = 0.0
)");
    std::ofstream(std::filesystem::path(job).parent_path() / "text.txt") << "a film\n";
    CHECK(run({"config", "check", job}).code == 0);
    CHECK(run({"config", "check", job, "--set", "data.eval_fraction=0.1"}).code == 0);
    const auto few =
        run({"config", "check", job, "--set", "data.eval_fraction=0.1", "--set", "model.vocab_size=99"});
    CHECK_THAT(few.err, contains("--set #2: error: model.vocab_size: bytes has 261 pieces"));
}

TEST_CASE("a shown configuration says where each value came from, and loads to the same again") {
    const auto shown = run({"config", "show", "configs/demo.toml", "--origin", "--set", "optimizer.lr=3e-4"});
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, contains("--set #1"));
    CHECK_THAT(shown.out, contains("configs/demo.toml:"));
    CHECK_THAT(shown.out, contains("preset minilm-l6"));
    const auto again = run(
        {"config", "show", write_temporary("again.toml", run({"config", "show", "configs/demo.toml"}).out)});
    CHECK(again.out == run({"config", "show", "configs/demo.toml"}).out);
}

TEST_CASE("configuration and schema have a JSON form") {
    const auto shown = run_json({"config", "show", "configs/mixed-layers.toml"});
    CHECK(schema_faults("config_show.json", shown) == no_faults);
    CHECK(shown.at("layers").size() == 2);
    const auto schema = run_json({"config", "schema"});
    CHECK(schema_faults("config_schema.json", schema) == no_faults);
    CHECK(std::any_of(schema.begin(), schema.end(),
                      [](const auto& key) { return key.at("key") == "attention.backend"; }));
    CHECK_THAT(run({"config", "schema"}).out, contains("\n[attention]"));
}

TEST_CASE("a JSON file that cannot be written is an error that names it") {
    const auto outcome = run({"config", "show", "configs/demo.toml", "--json", "/no/such/folder/x.json"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("/no/such/folder/x.json"));
    CHECK_THAT(outcome.err, contains("No such file or directory"));
}

TEST_CASE("docs/config.md is what the tables make") {
    const auto file = write_temporary("config.md", "");
    const auto json = write_temporary("schema.json", "");
    const auto both = run({"config", "schema", "--json", json, "--markdown", file});
    CHECK(both.code == 0);
    CHECK(both.out.empty());
    const auto read = [](const std::string& path) {
        std::ifstream stream(path);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    const auto expected = read((source_dir() / "docs/config.md").string());
    CHECK(read(file) == expected);
    CHECK(nlohmann::json::parse(read(json)).is_array());
    CHECK(run({"config", "schema", "--markdown", "-"}).out == expected);
}
