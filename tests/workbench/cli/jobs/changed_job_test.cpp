// A run that is gone on with as another job than it was begun: what differs is told, written down, and
// refused where it counts. To add a case: a line in one of the tables.
#include <fstream>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A run of two steps and the job that it is of.
struct Begun : TinyJob {
    Begun() { trained("run", {"train.steps=2"}); }
    fs::path folder() const { return run_folder("run"); }
    std::string checkpoint() const { return (folder() / "checkpoints/step-00000002").string(); }
    Outcome resumed(const Words& sets, Words more = {}) const {
        more.insert(more.begin(), "--resume");
        return run(train("run", sets, more));
    }
    std::vector<nlohmann::json> changes() const {
        std::vector<nlohmann::json> lines;
        std::ifstream file(folder() / "changes.jsonl");
        for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
        return lines;
    }
};

Words keys_of(const std::vector<nlohmann::json>& lines) {
    Words keys;
    for (const auto& line : lines) keys.push_back(line.at("key"));
    return keys;
}

}  // namespace

TEST_CASE("a change that makes the record untrue is refused, and the run stays as it was") {
    const Begun job;
    const auto before = files_below(job.folder());
    struct Change {
        std::string set, key, was, is;
    };
    const Change cases[] = {
        {"optimizer.lr=2e-3", "optimizer.lr", "0.001", "0.002"},
        {"optimizer.weight_decay=0.5", "optimizer.weight_decay", "0.01", "0.5"},
        {"model.dropout=0", "model.dropout", "0.1", "0.0"},
        {"train.schedule=linear", "train.schedule", "\"constant\"", "\"linear\""},
        {"train.grad_accumulation_steps=2", "train.grad_accumulation_steps", "3", "2"},
        {"runtime.threads=2", "runtime.threads", "1 thread", "2 threads"},
        {"precision.backend=amp/fp32", "precision.backend", "torch/fp32", "amp/fp32"},
    };
    for (const auto& change : cases) {
        INFO(change.set);
        check_refused(job.resumed({"train.steps=4", change.set}),
                      {job.checkpoint() + ": error: this is not the job that the run started with",
                       "\n  " + change.key + ": was ", change.was, ", is ", change.is,
                       "--allow-change " + change.key, ", which is recorded in changes.jsonl"});
        const bool untouched = files_below(job.folder()) == before;
        CHECK(untouched);
    }
    // All at once, each with its flag.
    check_refused(job.resumed({"optimizer.lr=2e-3", "model.dropout=0"}, {"--allow-change", "optimizer.lr"}),
                  {"\n  model.dropout: was 0.1, is 0.0\n", "continue with --allow-change model.dropout,"});
    check_refused(job.resumed({"optimizer.lr=2e-3"}, {"--allow-change", "optimiser.lr"}),
                  {"--allow-change: there is no key optimiser.lr; did you mean optimizer.lr?"});
    check_refused(run(job.train("new", {}, {"--allow-change", "optimizer.lr"})),
                  {"--allow-change", "--resume"});
    check_refused(run(job.train("new", {}, {"--resume", "auto", "--allow-change", "optimiser.lr"})),
                  {"--allow-change: there is no key optimiser.lr; did you mean optimizer.lr?"});
    const bool untouched = files_below(job.folder()) == before;
    CHECK(untouched);
}

TEST_CASE("a change that is allowed is told and recorded with its step, and the beginning's record stays") {
    const Begun job;
    const auto config = bytes_of(job.folder() / "config.toml"),
               record = bytes_of(job.folder() / "record.json");
    const Words faster{"train.steps=4", "optimizer.lr=2e-3"};
    // Tables that the job has none of may be allowed all the same.
    const auto outcome = job.resumed(faster, {"--allow-change", "optimizer.lr", "--allow-change", "group",
                                              "--allow-change", "layer", "--allow-change", "data.source"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("from step 2 on: optimizer.lr: was 0.001, is 0.002\n"));
    CHECK(keys_of(job.changes()) == Words{"optimizer.lr", "train.steps"});
    const auto line = job.changes().front();
    CHECK(line["step"] == 2);
    CHECK(line["before"] == "0.001");
    CHECK(line["now"] == "0.002");

    // What was changed holds from there on, and a change back is one more.
    const auto same = job.resumed({"train.steps=6", "optimizer.lr=2e-3"});
    INFO(same.err);
    CHECK(same.code == 0);
    CHECK(keys_of(job.changes()) == Words{"optimizer.lr", "train.steps", "train.steps"});
    check_refused(job.resumed({"train.steps=8"}), {"optimizer.lr: was 0.002, is 0.001"});
    CHECK(job.resumed({"train.steps=8"}, {"--allow-change", "optimizer.lr"}).code == 0);
    CHECK(job.changes().size() == 5);
    CHECK(bytes_of(job.folder() / "config.toml") == config);
    CHECK(bytes_of(job.folder() / "record.json") == record);

    // Steps that are done again take the changes that came after them along.
    for (const auto& name : checkpoints(job.folder())) {
        if (name > "step-00000006") fs::remove_all(job.folder() / "checkpoints" / name);
    }
    CHECK(job.resumed({"train.steps=8", "optimizer.lr=2e-3"}).code == 0);
    CHECK(keys_of(job.changes()) == Words{"optimizer.lr", "train.steps", "train.steps", "train.steps"});
}

TEST_CASE("a change of what is written down, and when, is told and recorded, not refused") {
    const Begun job;
    const auto outcome = job.resumed({"train.steps=4", "train.log_every=2", "train.checkpoint_every=1",
                                      "train.keep_last=7", "train.eval_every=1"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("from step 2 on: train.log_every: was 1, is 2\n"));
    CHECK(job.changes().size() == 5);
}

TEST_CASE("a run that was begun when a key had another name is predicted with and resumed") {
    const Begun job;
    const auto renamed = [&](const std::string& file, const std::string& now, const std::string& then) {
        auto text = bytes_of(job.folder() / file);
        REQUIRE(text.find(now) != std::string::npos);
        text.replace(text.find(now), now.size(), then);
        job.write("run/" + file, text);
    };
    renamed("config.toml", "keep_last = ", "keep_checkpoints = ");
    renamed("record.json", "train.keep_last", "train.keep_checkpoints");
    CHECK(run({"predict", job.folder().string(), "a warm film"}).code == 0);
    fs::remove_all(job.folder() / "checkpoints");  // what it is compared with is record.json then
    const auto outcome = job.resumed({"train.steps=2"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, !contains("keep_"));
}

TEST_CASE("how long a run is may change only where its learning rates do not hang on it") {
    const TinyJob job;
    for (const std::string set :
         {"train.schedule=linear", "train.warmup_ratio=0.5", "train.warmup_steps=3"}) {
        const auto name = set.substr(6, 8);
        job.trained(name, {set, "train.steps=2"});
        check_refused(run(job.train(name, {set, "train.steps=4"}, {"--resume"})),
                      {"\n  train.steps: was 2, is 4\n", "--allow-change train.steps"});
        job.trained(name, {set, "train.steps=4"}, {"--resume", "--allow-change", "train.steps"});
    }
}

TEST_CASE("data of another content are refused, and files that only moved are not") {
    const Begun job;
    const auto rows = bytes_of(job.file("rows.tsv"));
    // As many rows, of the same texts and so the same split: two labels are exchanged.
    auto other = rows;
    other.replace(other.find("\tgood"), 5, "\tbad").replace(other.rfind("\tbad"), 4, "\tgood");
    job.write("rows.tsv", other);
    check_refused(
        job.resumed({"train.steps=4"}),
        {"\n  data.train: was " + job.file("rows.tsv") + " with XXH3 ", "--allow-change data.train"});
    const auto allowed = job.resumed({"train.steps=4"}, {"--allow-change", "data.train"});
    CHECK(allowed.code == 0);
    CHECK(keys_of(job.changes()) == Words{"train.steps", "data.train"});

    job.write("moved.tsv", other);
    const Words moved{"train.steps=6", "data.train=[\"" + job.file("moved.tsv") + "\"]"};
    const auto outcome = job.resumed(moved);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("data.train: was [\"" + job.file("rows.tsv")));

    const auto words = bytes_of(job.file("vocab.txt"));
    job.write("vocab.txt", words + "unseen\n");
    check_refused(job.resumed(moved), {"\n  data.vocabulary: was "});
}

TEST_CASE("a run that never came to a checkpoint is compared with how it was begun") {
    const Begun job;
    fs::remove_all(job.folder() / "checkpoints");
    check_refused(
        job.resumed({"train.steps=2", "optimizer.lr=2e-3"}),
        {job.folder().string() + ": error: this is not the job", "optimizer.lr: was 0.001, is 0.002"});
    const auto anew = job.resumed({"train.steps=2"});
    CHECK(anew.code == 0);
    CHECK_THAT(anew.err, contains("has no checkpoint: starting from the beginning\n"));
    CHECK_FALSE(fs::exists(job.folder() / "changes.jsonl"));
}

TEST_CASE("the first weights of a run count until it has a checkpoint, by their content") {
    const TinyJob job;
    job.trained("one", {"train.steps=1"});
    job.trained("two", {"train.steps=2", "run.seed=9"});
    const auto model = [&](const std::string& run) { return job.run_folder(run) + "/model"; };
    const auto weights = [&](const std::string& folder) { return "train.weights=" + folder; };
    job.trained("run", {"train.steps=2", "train.schedule=constant", weights(model("one"))});
    const auto resumed = [&](const std::string& set, const Words& more = {}) {
        auto words = more;
        words.insert(words.begin(), "--resume");
        return run(job.train("run", {"train.steps=2", "train.schedule=constant", set}, words));
    };
    // It has weights of its own now.
    CHECK(resumed(weights(model("two"))).code == 0);
    fs::remove_all(job.run_folder("run") + "/checkpoints");
    const auto before = files_below(job.run_folder("run"));
    for (const std::string& set : {weights(model("two")), std::string("train.weights=\"\"")}) {
        INFO(set);
        check_refused(resumed(set),
                      {"\n  train.weights: was " + model("one") + "/model.safetensors with XXH3 ",
                       "--allow-change train.weights"});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
    }
    fs::copy(model("one"), job.file("moved"), fs::copy_options::recursive);
    const auto elsewhere = resumed(weights(job.file("moved")));
    INFO(elsewhere.err);
    CHECK(elsewhere.code == 0);
    // Other content in the same place.
    fs::remove_all(job.run_folder("run") + "/checkpoints");
    fs::copy_file(model("two") + "/model.safetensors", job.file("moved") + "/model.safetensors",
                  fs::copy_options::overwrite_existing);
    check_refused(resumed(weights(job.file("moved"))), {"\n  train.weights: was "});
    CHECK(resumed(weights(job.file("moved")), {"--allow-change", "train.weights"}).code == 0);
}

TEST_CASE("every file of data is compared by its content") {
    const TinyJob job;
    const auto rows = bytes_of(job.file("rows.tsv"));
    struct Data {
        std::string key;
        Words sets;
    };
    const std::string file = job.file("other.tsv"), list = "[\"" + file + "\"]";
    const Data cases[] = {
        {"data.eval", {"data.eval=" + list}},
        {"data.source.files",
         {"data.train=[]", "data.eval=[\"" + job.file("rows.tsv") + "\"]",
          "data.source=[{name=\"a\",files=" + list + "}]"}},
    };
    for (const auto& data : cases) {
        INFO(data.key);
        job.write("other.tsv", rows);
        auto sets = data.sets;
        sets.insert(sets.end(), {"train.steps=2", "train.schedule=constant", "train.warmup_ratio=0"});
        const auto name = data.key.substr(5);
        job.trained(name, sets);
        auto other = rows;
        other.replace(other.find("\tgood"), 5, "\tbad").replace(other.rfind("\tbad"), 4, "\tgood");
        job.write("other.tsv", other);
        sets.push_back("train.steps=4");
        check_refused(run(job.train(name, sets, {"--resume"})),
                      {"\n  " + data.key + ": was " + file + " with XXH3 ", "--allow-change " + data.key});
    }
}

TEST_CASE("a finished run says how many steps it has done, whatever it is asked for") {
    const Begun job;
    const auto outcome = job.resumed({"train.steps=1"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains(": is finished, after 2 steps; nothing was changed"));
}

TEST_CASE("a checkpoint under another name than its step's is refused") {
    const Begun job;
    fs::rename(job.checkpoint(), job.folder() / "checkpoints/step-00000005");
    check_refused(job.resumed({}), {(job.folder() / "checkpoints/step-00000005").string() +
                                    ": holds step 2, but its name says step 5: call it step-00000002"});
}
