// Input that cannot be used: exit code 2, a text that names the place, and nothing written.
// To add a case: a line in one of the tables.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors_text.h"
#include "tiny_job.h"

#include <sanitized.h>
#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

struct BadWeights {
    std::string name;
    std::function<std::string(SafetensorsText)> spoil;
    Words expected;  // after the file's name
};

std::string rows_with(const std::string& line) {
    return "text\tlabel\na fresh film\tgood\na dull plot\tbad\n" + line;
}

}  // namespace

TEST_CASE("a file of weights that is missing, cut off or lies is refused") {
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    const auto good = bytes_of(fs::path(job.run_folder("base")) / "model/model.safetensors");
    const std::string q = "bert.encoder.layer.0.attention.self.query.weight",
                      k = "bert.encoder.layer.0.attention.self.key.weight";
    const auto entry = [&](const char* key, const nlohmann::json& value) {
        return [=](SafetensorsText file) {
            file.header[q][key] = value;
            return file.text();
        };
    };
    const BadWeights cases[] = {
        {"cut",
         [&](const auto&) { return good.substr(0, good.size() - 100); },
         {"it is truncated or its header is wrong"}},
        {"cut_header",
         [&](const auto&) { return good.substr(0, 60); },
         {"it is truncated or no safetensors file"}},
        {"cut_length", [&](const auto&) { return good.substr(0, 5); }, {"has 5 bytes"}},
        {"empty", [](const auto&) { return std::string(); }, {"has 0 bytes"}},
        {"length",
         [&](const auto&) { return std::string(7, '\xff') + '\x7f' + good.substr(8); },
         {"9223372036854775807 bytes"}},
        {"no_json",
         [](const auto&) {
             return SafetensorsText{"text", "data"}.text();
         },
         {"does not start with '{'"}},
        {"overlap",
         [&](SafetensorsText file) {
             file.header[q]["data_offsets"] = file.header[k]["data_offsets"];
             return file.text();
         },
         {"overlap", q, k}},
        {"hole",
         [&](SafetensorsText file) {
             file.header.erase(q);
             return file.text();
         },
         {"there is a hole of 4096 bytes before tensor"}},
        {"tail",
         [&](SafetensorsText file) { return file.data += "more", file.text(); },
         {"there are 4 bytes after the last tensor"}},
        {"shape",
         entry("shape", {64, 32}),
         {"tensor '" + q + "'", "(4096 bytes)", "shape [64,32] needs 8192"}},
        {"wraps",
         entry("shape", {std::int64_t{1} << 33, std::int64_t{1} << 33}),
         {"tensor '" + q + "'", "more bytes than 64 bits can count"}},
        {"negative", entry("shape", {-32, -32}), {"tensor '" + q + "'", "-32"}},
        {"outside",
         entry("data_offsets", {0, std::int64_t{1} << 62}),
         {"tensor '" + q + "'", "it is truncated or its header is wrong"}},
        {"dtype", entry("dtype", "F33"), {"tensor '" + q + "'", "unknown dtype \"F33\""}},
        {"whole_numbers",
         entry("dtype", "I32"),
         {"tensor '" + q + "'", "has dtype I32; expected floating-point weights"}},
        {"turned",
         [&](SafetensorsText file) {
             file.header[q]["shape"] = {16, 64};
             return file.text();
         },
         {"tensor '" + q + "' has shape [16, 64]", "of the configured model has [32, 32]"}},
        {"renamed",
         [&](SafetensorsText file) {
             file.header["other"] = file.header[q];
             file.header.erase(q);
             return file.text();
         },
         {"has no tensor for encoder.0.attention.q.weight", q, "shape [32, 32]"}},
    };
    for (const auto& bad : cases) {
        INFO(bad.name);
        const auto file = job.write(bad.name + ".safetensors", bad.spoil(SafetensorsText::of(good)));
        auto expected = bad.expected;
        expected.push_back("error: " + file + ": ");
        check_refused(run(job.train("run", {"train.weights=" + file})), expected);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
    }
    const auto missing = job.file("none.safetensors");
    check_refused(run(job.train("run", {"train.weights=" + missing})),
                  {"--set #1: error: train.weights: " + missing +
                   ": is not there; expected a folder of Hugging Face's, a safetensors file or a GGUF file"});
    const auto model = job.run_folder("base") + "/model";
    check_refused(run(job.train("run", {"train.weights=" + model, "model.intermediate_size=48"})),
                  {model + "/config.json: not the configured model: model.intermediate_size", "48", "64"});
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}

TEST_CASE("data that cannot be used is refused with file and line") {
    struct Bad {
        std::string name, rows;
        Words expected;
    };
    const Bad cases[] = {
        {"no_rows.tsv", "text\tlabel\n", {"data.train: no row can be used for training (0 read)"}},
        {"blank.tsv",
         "text\tlabel\n \tgood\n\tbad\n",
         {"data.train: no row can be used for training (2 read, 2 without any text)"}},
        {"twice.tsv", "text\ttext\tlabel\na\tb\tgood\n", {"twice.tsv:1:1: has 2 columns 'text'"}},
        {"nothing.tsv", "", {"nothing.tsv: is empty; expected text"}},
        {"columns.tsv",
         rows_with("one\ttwo\tthree\n"),
         {"columns.tsv:4:9: the row has 3 columns, expected 2"}},
        {"label.tsv", rows_with("a film\tgood\na scene\t2\n"), {"label.tsv:5:9: ", "'2'", "'bad', 'good'"}},
        {"negative.tsv", rows_with("a scene\t-1\n"), {"negative.tsv:4:9: ", "'-1'"}},
        {"unnamed.tsv",
         "words\tlabel\na film\tgood\n",
         {"unnamed.tsv:1:1: has no column 'text'", "'words', 'label'"}},
        {"cut.jsonl",
         "{\"text\": \"a film\", \"label\": \"good\"}\n{\"text\": \"a f",
         {"cut.jsonl:2:14: the row is not valid JSON at column ", "expected one JSON object a line"}},
        {"list.jsonl",
         "[{\"text\": \"a film\", \"label\": \"good\"}]",
         {"list.jsonl:1:1: is a JSON array", "jq"}},
        {"semicolons.csv", "text;label\na film;good\n", {"semicolons.csv:1:1: ", "separated by semicolons"}},
        {"utf8.tsv", rows_with("a \xff film\tgood\n"), {"utf8.tsv:4:3: is not valid UTF-8 at byte 3"}},
        {"damaged.tsv.gz", "this is no gzip", {"damaged.tsv.gz"}},
        {"rows.json",
         "[]",
         {"rows.json: cannot tell its format from its name", "(`jq -c '.[]' rows.json > rows.jsonl`"}},
        {"rows.xml", "<a/>", {"rows.xml: cannot tell its format from its name"}},
    };
    const TinyJob job;
    for (const auto& bad : cases) {
        INFO(bad.name);
        const auto file = job.write(bad.name, bad.rows);
        check_refused(run(job.train("run", {"data.train=[\"" + file + "\"]"})), bad.expected);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
    }
}

TEST_CASE("a job whose parts do not fit each other is refused") {
    struct Bad {
        Words sets;
        Words expected;
    };
    const TinyJob job;
    fs::create_directory(job.file("empty"));
    const Bad cases[] = {
        {{"data.train=[\"" + job.file("none.tsv") + "\"]"},
         {"--set #1: error: data.train: " + job.file("none.tsv") + ": ", "No such file or directory"}},
        {{"data.vocabulary=" + job.file("none.txt")},
         {"--set #1: error: data.vocabulary: " + job.file("none.txt") +
          ": cannot be opened: No such file or directory; expected a vocabulary"}},
        {{"data.vocabulary=" + job.file("empty")},
         {"error: data.vocabulary: ", "is a folder without a tokenizer; expected tokenizer.json",
          "vocab.txt"}},
        {{"batch.max_length=33"}, {"--set #1: error: batch.max_length", "33", "32"}},
        {{"model.vocab_size=20"}, {job.file("vocab.txt") + ": has 49 pieces, but model.vocab_size is 20"}},
        {{"task.kind=regression"}, {"has no column 'bad'; its columns are"}},
        {{"task.kind=multi_label", "loss.label_smoothing=0.1"},
         {"error: loss.label_smoothing: multi_label has no classes of which one is right"}},
        {{"loss.ignore_index=1"},
         {"--set #1: error: loss.ignore_index: the data mark with -100 what has no label",
          "expected -100, or this key left out"}},
        {{"data.label_separator=\";\""},
         {"error: data.label_separator: classification has one label in a column"}},
        {{"task.labels=[\"good\"]"},
         {"--set #1: error: task.labels: expected the names of at least two classes"}},
        {{"data.train=[]"}, {"--set #1: error: data.train: expected at least one file"}},
        {{"task.labels=[\"good\", \"bad\", \"good\"]"}, {"--set #1: error: task.labels", "good"}},
        {{"run.phases=[\"train\"]"}, {"run.phases: ", "eval"}},
        {{"attention.backend=flashy"}, {"flashy"}},
        {{"data.eval_fraction=1e-12"}, {"--set #1: error: data.eval_fraction: no text was held out"}},
        {{"batch.size=100", "data_loader.drop_last=true"},
         {"--set #1: error: batch.size: data_loader.drop_last leaves no batch of 52 samples; expected a "
          "batch.size of at most 52"}},
    };
    for (const auto& bad : cases) {
        INFO(bad.sets.front());
        check_refused(run(job.train("run", bad.sets)), bad.expected);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
    }
}

TEST_CASE("a text longer than the positions is cut and counted") {
    const TinyJob job;
    std::string text = "a";
    for (int i = 0; i < 100; ++i) text += " film";
    job.write("rows.tsv", bytes_of(job.file("rows.tsv")) + text + "\tgood\n");
    job.trained("run");
    const auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json");
    CHECK(summary["rows"]["truncated"].get<int>() + summary["eval_rows"]["truncated"].get<int>() == 1);
}

TEST_CASE("a run folder is not begun twice, and one that is none is not gone on with") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    check_refused(run(job.train("run")), {job.run_folder("run") + " contains a run already", "--resume"});
    fs::remove(job.run_folder("run") + "/metrics.jsonl");
    check_refused(run(job.train("run")), {job.run_folder("run") + " contains a run already"});
    check_refused(run(job.train("other", {}, {"--resume"})),
                  {job.run_folder("other"), "there is no run to resume"});
    CHECK_FALSE(fs::exists(job.run_folder("other")));
}

TEST_CASE("a key that was left out is told with the place of its section") {
    const TinyJob job;
    const auto without = [&](const std::string& line) {
        auto text = bytes_of(job.file("job.toml"));
        const auto at = text.find(line);
        REQUIRE(at != std::string::npos);
        return job.write("less.toml", text.erase(at, line.size()));
    };
    // The first key of [task] is in line 20, that of [data] in line 24.
    const auto labels = without("labels = [\"bad\", \"good\"]\n");
    check_refused(
        run({"train", labels, "--run", job.run_folder("run")}),
        {labels + ":20: error: task.labels: is missing; expected the names of at least two classes"});
    const auto train = without("train = [\"rows.tsv\"]\n");
    check_refused(run({"train", train, "--run", job.run_folder("run")}),
                  {train + ":24: error: data.train: is missing; expected at least one file"});
    const auto vocabulary = without("vocabulary = \"vocab.txt\"\n");
    check_refused(run({"train", vocabulary, "--run", job.run_folder("run")}),
                  {vocabulary + ":24: error: data.vocabulary: is missing; expected the path of a tokenizer"});
}

TEST_CASE("a classifier of the same labels in another order is refused, one of other labels is told") {
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    const auto weights = "train.weights=" + job.run_folder("base") + "/model";
    const auto file = job.run_folder("base") + "/model/model.safetensors";
    check_refused(run(job.train("turned", {weights, "task.labels=[\"good\", \"bad\"]", "train.steps=1"})),
                  {"--set #2: error: task.labels: the classifier of " + file +
                   " was trained for bad, good, in this order; expected the same order, got good, bad"});
    CHECK_FALSE(fs::exists(job.run_folder("turned")));
    const auto other = job.trained(
        "other", {weights, "task.labels=[\"bad\", \"great\"]", "train.steps=1", "data.other_label=skip"});
    INFO(other.err);
    CHECK_THAT(other.err,
               contains("warning: the classifier of " + file +
                        " was trained for bad, good; its values are what that for bad, great begins with"));
}

TEST_CASE("weights in a form that is not read are told as what they are, and what to do") {
    const TinyJob job;
    const auto folder = [&](const std::string& name, const std::string& file, const std::string& bytes) {
        fs::create_directories(job.file(name));
        return fs::path(job.write(name + "/" + file, bytes)).parent_path().string();
    };
    job.trained("base", {"train.steps=1"});
    const auto sharded = folder("sharded", "model.safetensors.index.json", "{}");
    const auto pickled = folder("pickled", "pytorch_model.bin", "PK\x03\x04");
    struct Bad {
        std::string path;
        Words expected;
    };
    const Bad cases[] = {
        {sharded + "/model.safetensors.index.json", {"expected \"weight_map\" with the file of each tensor"}},
        {pickled, {"holds pytorch_model.bin", "(pickle)", "safe_serialization=True"}},
        {pickled + "/pytorch_model.bin", {"is a file of Python objects (pickle)", "safe_serialization=True"}},
        {folder("gguf", "m.gguf", "GGUF") + "/m.gguf", {"needs 4 bytes for its version at byte 4"}},
        {job.run_folder("base"), {"is a folder without a model.safetensors; did you mean ", "base/model?"}},
        {folder("none", "a.txt", ""), {"is a folder without a model.safetensors; expected "}},
    };
    for (const auto& bad : cases) {
        INFO(bad.path);
        auto expected = bad.expected;
        expected.push_back("--set #1: error: train.weights: " + bad.path + ": ");
        check_refused(run(job.train("run", {"train.weights=" + bad.path})), expected);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
    }
}

TEST_CASE("rows that are most likely not meant are told and counted, and training goes on") {
    const TinyJob job;
    std::string rows = "text\tlabel\n";
    for (int i = 0; i < 20; ++i)
        rows += "a fresh film " + std::string(static_cast<std::size_t>(i), 'a') + "\tgood\n";
    rows += "\tgood\n";
    rows += std::string("a\0film\tgood\n", 12);
    job.write("rows.tsv", rows);
    const auto outcome = job.trained("run", {"train.steps=1"});
    CHECK_THAT(outcome.err, contains("samples have the label 'good': there is nothing to tell apart"));
    CHECK_THAT(outcome.err, contains("warning: data.train: no sample has the label 'bad' (task.labels)"));
    CHECK_THAT(outcome.err, contains("1 row without any text is left out"));
    CHECK_THAT(outcome.err, contains("NUL bytes"));
    const auto summary = json_of(fs::path(job.run_folder("run")) / "summary.json");
    const auto sum = [&](const char* key) {
        return summary["rows"][key].get<int>() + summary["eval_rows"][key].get<int>();
    };
    CHECK(sum("empty") == 1);
    CHECK(sum("with_nul") == 1);
}

TEST_CASE("more than twenty bad rows are told as how many more there are") {
    const TinyJob job;
    std::string rows;
    for (int i = 0; i < 100; ++i) rows += "a film\tother" + std::to_string(i) + "\n";
    job.write("rows.tsv", rows_with(rows));
    const auto outcome = run(job.train("run"));
    check_refused(outcome, {"label 'other19' is none of", "\nand 80 more\n"});
    CHECK(outcome.err.find("other20") == std::string::npos);
}

TEST_CASE("predict tells classes of single texts, and what is wrong with one") {
    const TinyJob job;
    job.write("pairs.tsv", "text\tother\tlabel\na fresh film\ta plot\tgood\na dull plot\ta film\tbad\n");
    job.trained("pairs",
                {"data.train=[\"" + job.file("pairs.tsv") + "\"]",
                 "data.eval=[\"" + job.file("pairs.tsv") + "\"]", "data.pair_column=other", "train.steps=1"});
    check_refused(run({"predict", job.run_folder("pairs"), "a film"}),
                  {"text 1: error: " + job.run_folder("pairs") + " was trained on pairs of texts",
                   "expected two with a tab between, as in $'first\\tsecond', got 0 tabs"});
    check_refused(run({"predict", job.run_folder("pairs"), "a\tb", "a\tb\tc"}),
                  {"text 2: error: ", "got 2 tabs"});
    job.trained("run", {"train.steps=1"});
    check_refused(run({"predict", job.run_folder("run"), "a film", "a \xff film"}),
                  {"text 2: error: is not valid UTF-8 at byte 3"});
    const auto empty = run({"predict", job.run_folder("run"), "a film", " "});
    CHECK(empty.code == 0);
    CHECK_THAT(empty.err, contains("warning: 1 of 2 texts without any word"));
}

TEST_CASE("what a run's folder or an option stands for is told by its own name, and --set by its number") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto run_folder = job.run_folder("run"), none = job.file("none");
    check_refused(run({"predict", none, "a"}),
                  {none + ": error: there is no such folder; expected the folder"});
    check_refused(run({"predict", job.file("job.toml"), "a"}),
                  {job.file("job.toml") + ": error: is not a folder"});
    check_refused(
        run({"predict", job.file(""), "a"}),
        {job.file("") + ": error: has no config.toml and no config.json; expected the folder of a run",
         ", or a Hugging Face folder, with config.json"});
    check_refused(run({"predict", run_folder, "a", "--set", "batch.size=x"}),
                  {"--set #1: error: batch.size: got"});
    check_refused(run({"generate", run_folder, "--weights", none}),
                  {"--weights: error: train.weights: " + none});
    job.write("run/vocab.txt", "");
    check_refused(run({"predict", run_folder, "a"}), {run_folder + ": error: data.vocabulary: ", "is empty"});
    fs::remove(run_folder + "/model/model.safetensors");
    REQUIRE(::mkfifo((run_folder + "/model/model.safetensors").c_str(), 0600) == 0);
    job.write("run/vocab.txt", bytes_of(job.file("vocab.txt")));
    check_refused(run({"predict", run_folder, "a"}), {"model.safetensors: is not a regular file"});
}

TEST_CASE("data of a job that comes along, which are not there, are told with the command that brings them") {
    const TinyJob job;
    fs::create_directory(job.file("configs"));
    const auto copied = [&](const std::string& name) {
        return job.write("configs/" + name, bytes_of(source_dir() / "configs" / name));
    };
    const RunOptions beside{{{"SWITCHYARD_DEPS", job.file(".deps")}}};
    const auto molecules = copied("molecules.toml");
    check_refused(run({"data", "show", molecules}, beside),
                  {job.file(".deps/data/moses/"), "\n`switchyard data fetch molecules` brings it\n"});
    check_refused(run({"config", "check", copied("next-sentence.toml")}, beside),
                  {"\n`switchyard data fetch demo` brings it\n"});
    check_refused(run({"generate", copied("smollm2.toml"), "--prompt", "a"}, beside),
                  {"\n`switchyard data fetch smollm2` brings it\n"});
    // It would bring it to another place.
    const auto elsewhere = run({"config", "check", molecules});
    CHECK(elsewhere.code == 2);
    CHECK(elsewhere.err.find("brings it") == std::string::npos);
}

TEST_CASE("more threads than cores are told") {
    const TinyJob job;
    const auto cores = std::to_string(sysconf(_SC_NPROCESSORS_CONF) + 1);
    const auto outcome = job.trained("run", {"train.steps=1", "runtime.threads=" + cores});
    CHECK_THAT(outcome.err, contains("warning: runtime.threads: " + cores + " threads compete for the "));
    CHECK(job.trained("one", {"train.steps=1"}).err.find("runtime.threads") == std::string::npos);
}

TEST_CASE("what does not fit into memory is told with what of the command to lower") {
    if (sanitized) return skip("built with a sanitizer: its address space is not limited");
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto run_folder = job.run_folder("run"), rows = job.file("rows.tsv");
    const auto gpt = job.write(
        "gpt.toml",
        "[model]\ntype = \"gpt\"\nlayers = 1\nhidden_size = 8\nheads = 1\nintermediate_size = 8\n"
        "vocab_size = 261\nmax_positions = 8\n[task]\nkind = \"causal_lm\"\n[data]\ntrain = [\"rows.tsv\"]\n"
        "tokenizer = \"bytes\"\n[train]\nsteps = 1\n" +
            torch_slots("0.01"));
    REQUIRE(run({"train", gpt, "--run", job.file("writes")}).code == 0);
    RunOptions less;
    less.environment["GLIBC_TUNABLES"] = "";  // no large pages, which all tests have
    less.in_child = [] {
        const rlimit limit{std::size_t{8} << 30, std::size_t{8} << 30};
        ::setrlimit(RLIMIT_AS, &limit);
    };
    struct Case {
        Words words, advice;
    };
    const Words size{"batch.size", "batch.max_length"}, bits{"precision.backend=amp/bf16_pure"},
        cache{"cache.dtype"};
    const std::vector<Case> cases{
        {job.train("large"), with(size, {"train.grad_accumulation_steps", "train.recompute"})},
        {{"predict", run_folder, "a film"}, with(size, bits)},
        {{"evaluate", run_folder, rows}, with(size, bits)},
        {{"embed", run_folder, "a film"}, with(size, bits)},
        {{"generate", job.file("writes")}, with(with(bits, cache), {"--max-tokens", "batch.size"})}};
    for (const auto& [words, advice] : cases) {
        const auto outcome =
            run(with(words, {"--set", "model.vocab_size=50000000", "--set", "model.hidden_size=64"}), less);
        INFO(words[0] << ": " << outcome.err);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.err, contains("memory"));
        CHECK_THAT(outcome.err, contains("less memory is needed with "));
        for (const auto& part : advice) CHECK_THAT(outcome.err, contains(part));
        for (const char* sign : {"frame #", "Exception raised from", "terminate called"})
            CHECK(outcome.err.find(sign) == std::string::npos);
        if (words[0] == "train") continue;
        CHECK(outcome.err.find("train.") == std::string::npos);
    }
}
