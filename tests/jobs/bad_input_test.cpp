// Input that cannot be used: exit code 2, a text that names the place, and nothing written.
// To add a case: a line in one of the tables.
#include "safetensors_text.h"
#include "tiny_job.h"

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
                  {missing + ": cannot open: No such file or directory"});
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
        {"nothing.tsv", "", {"nothing.tsv: is empty; expected text"}},
        {"columns.tsv", rows_with("one\ttwo\tthree\n"), {"columns.tsv:4: the row has 3 columns, expected 2"}},
        {"label.tsv", rows_with("a film\tgood\na scene\t2\n"), {"label.tsv:5: ", "'2'", "'bad', 'good'"}},
        {"negative.tsv", rows_with("a scene\t-1\n"), {"negative.tsv:4: ", "'-1'"}},
        {"unnamed.tsv",
         "words\tlabel\na film\tgood\n",
         {"unnamed.tsv:1: has no column 'text'", "'words', 'label'"}},
        {"cut.jsonl",
         "{\"text\": \"a film\", \"label\": \"good\"}\n{\"text\": \"a f",
         {"cut.jsonl:2: the row is no JSON object"}},
        {"damaged.tsv.gz", "this is no gzip", {"damaged.tsv.gz"}},
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
    const Bad cases[] = {
        {{"data.train=[\"" + job.file("none.tsv") + "\"]"},
         {job.file("none.tsv") + ": ", "No such file or directory"}},
        {{"data.vocabulary=" + job.file("none.txt")}, {job.file("none.txt") + ": cannot be opened"}},
        {{"batch.max_length=33"}, {"--set #1: error: batch.max_length", "33", "32"}},
        {{"model.vocab_size=20"}, {job.file("vocab.txt") + ": has 49 pieces, but model.vocab_size is 20"}},
        {{"task.kind=token_classification"},
         {"--set #1: task.kind: there is no reader of data for token_classification"}},
        {{"task.labels=[\"good\"]"}, {"--set #1: task.labels: expected the names of at least two classes"}},
        {{"data.train=[]"}, {"--set #1: data.train: expected at least one file"}},
        {{"run.phases=[\"train\"]"}, {"run.phases: ", "eval"}},
        {{"attention.backend=flashy"}, {"flashy"}},
        {{"data.eval_share=0.0"}, {"data.eval_share: no text was held out"}},
        {{"batch.size=100", "data_loader.drop_last=true"},
         {"--set #1: batch.size: data_loader.drop_last leaves no batch of 52 samples"}},
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
    check_refused(run(job.train("run")), {job.run_folder("run") + " holds a run already", "--resume"});
    fs::remove(job.run_folder("run") + "/metrics.jsonl");
    check_refused(run(job.train("run")), {job.run_folder("run") + " holds a run already"});
    check_refused(run(job.train("other", {}, {"--resume"})),
                  {job.run_folder("other"), "there is no run to go on with"});
    CHECK_FALSE(fs::exists(job.run_folder("other")));
}
