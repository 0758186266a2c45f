// Checkpoints that cannot be gone on from: exit code 2, a text that names the folder and the file, and the
// run as it was.
// To add a case: a line in one of the tables.
#include <fstream>
#include <iomanip>
#include <sstream>

#include "safetensors_text.h"
#include "tiny_job.h"

#include <xxhash.h>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Gives a checkpoint the checksums of what its files now are, as `xxh128sum` does: what is wrong in them is
// then found by reading them.
void seal(const fs::path& checkpoint) {
    std::ostringstream text;
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
        const auto bytes = bytes_of(checkpoint / file);
        const auto hash = XXH3_128bits(bytes.data(), bytes.size());
        text << std::hex << std::setfill('0') << std::setw(16) << hash.high64 << std::setw(16) << hash.low64
             << "  " << file << '\n';
    }
    std::ofstream(checkpoint / "checksums.xxh128") << text.str();
}

}  // namespace

TEST_CASE("a checkpoint of another model, plan or order of data is refused, and the run stays as it was") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    const auto before = files_below(job.run_folder("run"));
    struct Bad {
        Words sets;
        std::string saved, now;
    };
    const Bad cases[] = {
        {{"model.layers=1"}, "bert, 2 layers", "bert, 1 layers"},
        {{"attention.backend=naive"},
         "attention encoder.0-1 train: torch/torch",
         "attention encoder.0-1 train: naive/naive"},
        {{"optimizer.algorithm=sgd"}, "optimizer algorithm: adamw", "optimizer algorithm: sgd"},
        {{"batch.size=5"},
         "samples in batches of 4, shuffled, seed 3",
         "samples in batches of 5, shuffled, seed 3"},
        {{"run.seed=4"},
         "samples in batches of 4, shuffled, seed 3",
         "samples in batches of 4, shuffled, seed 4"},
        {{"data.max_rows=50"}, "saved: data: ", "now:   data: "},
        // Of the same number of layers, heads and words.
        {{"model.intermediate_size=48"},
         "tensor 'encoder.0.feed_forward",
         "has shape [64, 32], the model's has [48, 32]"},
    };
    for (const auto& bad : cases) {
        INFO(bad.sets.front());
        check_refused(
            run(job.train("run", bad.sets, {"--resume"})),
            {"error: " + job.run_folder("run") + "/checkpoints/step-00000002: ", bad.saved, bad.now});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
    }
}

TEST_CASE("a checkpoint whose files are not as they were written is refused, and no older one taken for it") {
    const TinyJob job;
    job.trained("run", {"train.steps=2", "train.checkpoint_every=1"});
    const fs::path folder = job.run_folder("run") + "/checkpoints";
    const auto checkpoint = folder / "step-00000002";
    const auto flip = [](std::size_t at) {
        return [at](std::string text) {
            text.at(at < text.size() ? at : text.size() - 2) ^= 1;
            return text;
        };
    };
    const std::size_t end = ~std::size_t{0};
    const std::string mismatch = ": is damaged: its content does not match its checksum: expected ";
    struct Bad {
        std::string file;
        std::function<std::string(const std::string&)> damage;
        std::string expected;
    };
    const Bad cases[] = {
        {"model.safetensors", flip(end), "model.safetensors" + mismatch},
        {"optimizer.safetensors", flip(end), "optimizer.safetensors" + mismatch},
        {"optimizer.safetensors", [](const auto& text) { return text.substr(0, 100); },
         "optimizer.safetensors" + mismatch},
        {"state.json", flip(end), "state.json" + mismatch},
        {"checksums.xxh128", flip(0), "model.safetensors" + mismatch},
        {"checksums.xxh128", flip(40), "checksums.xxh128: is damaged: does not name model.safetensors"},
        {"checksums.xxh128", [](const auto&) { return std::string(); },
         "checksums.xxh128: is damaged: does not name model.safetensors"},
    };
    for (const auto& bad : cases) {
        INFO(bad.file << ": " << bad.expected);
        const auto whole = bytes_of(checkpoint / bad.file);
        job.write("run/checkpoints/step-00000002/" + bad.file, bad.damage(whole));
        const auto before = files_below(job.run_folder("run"));
        check_refused(run(job.train("run", {}, {"--resume"})),
                      {"error: " + checkpoint.string() + ": " + bad.expected,
                       "; to resume from the checkpoint before it, step-00000001, delete this folder\n"});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
        job.write("run/checkpoints/step-00000002/" + bad.file, whole);
    }
    fs::remove(checkpoint / "checksums.xxh128");
    check_refused(run(job.train("run", {}, {"--resume"})),
                  {"checksums.xxh128: is not there: ", "delete this folder\n"});

    // What the text says to do.
    fs::remove_all(checkpoint);
    job.trained("run", {}, {"--resume"});
    job.trained("whole", {"train.checkpoint_every=1"});
    const fs::path last = "checkpoints/step-00000008/model.safetensors";
    const bool same = bytes_of(job.run_folder("run") / last) == bytes_of(job.run_folder("whole") / last);
    CHECK(same);
}

TEST_CASE("the only checkpoint of a run, damaged, is refused with what else can be done") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    const std::string file = "run/checkpoints/step-00000002/model.safetensors";
    auto bytes = bytes_of(job.file(file));
    bytes.back() ^= 64;
    job.write(file, bytes);
    check_refused(run(job.train("run", {}, {"--resume"})),
                  {"; there is no older checkpoint: start again in another folder, with --run\n"});
}

TEST_CASE("a damaged record of a run is refused before the run goes on, not at its end") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    for (const char* damaged : {"{", "[]"}) {
        INFO(damaged);
        job.write("run/record.json", damaged);
        const auto before = files_below(job.run_folder("run"));
        check_refused(run(job.train("run", {}, {"--resume"})),
                      {job.run_folder("run") + "/record.json:1:", " error: "});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
    }
}

TEST_CASE("a checkpoint that does not hold what belongs there is refused, and the run stays as it was") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    const fs::path checkpoint = job.run_folder("run") + "/checkpoints/step-00000002";
    const auto damage_state = [&](const std::string& pointer, const nlohmann::json& value) {
        return [=](const std::string& text) {
            auto state = nlohmann::json::parse(text);
            state[nlohmann::json::json_pointer(pointer)] = value;
            return state.dump();
        };
    };
    const auto change = [](const std::string& name, const char* key, const nlohmann::json& value) {
        return [=](const std::string& text) {
            auto file = SafetensorsText::of(text);
            file.header.at(name)[key] = value;
            return file.text();
        };
    };
    struct Bad {
        std::string file;
        std::function<std::string(const std::string&)> damage;
        std::string expected;
    };
    const auto cut = [](const std::string& text) { return text.substr(0, text.size() / 2); };
    const auto drop = [](const std::string& name) {
        return [=](const std::string& text) {
            auto file = SafetensorsText::of(text);
            file.header["other"] = file.header.at(name);
            file.header.erase(name);
            return file.text();
        };
    };
    const Bad cases[] = {
        {"state.json", cut, "state.json is damaged"},
        {"state.json", [](const auto&) { return std::string(); }, "state.json is damaged"},
        {"state.json", damage_state("/version", 99), "state.json has version 99"},
        {"state.json", damage_state("/step", "two"), "state.json is damaged"},
        {"state.json", damage_state("/step", -1), "state.json is damaged"},
        {"state.json", damage_state("/loader/batch", 1000), "batch 1000"},
        {"state.json", damage_state("/loader/epoch", -1), "\"epoch\" is negative"},
        {"state.json", damage_state("/optimizer/entries/0/0", "nobody"), "does not fit this job: "},
        {"model.safetensors", cut, "model.safetensors: "},
        {"model.safetensors", drop("encoder.0.attention.q.weight"),
         "has no tensor 'encoder.0.attention.q.weight'"},
        {"optimizer.safetensors", cut, "optimizer.safetensors: "},
        {"optimizer.safetensors", drop("3"), "optimizer.safetensors has no tensor 3"},
        {"optimizer.safetensors", change("0", "shape", {32, 64}), "does not fit this job: "},
        {"optimizer.safetensors", change("random.generator", "dtype", "I8"), "random state: "},
    };
    for (const auto& bad : cases) {
        INFO(bad.file << ": " << bad.expected);
        const auto whole = bytes_of(checkpoint / bad.file);
        job.write("run/checkpoints/step-00000002/" + bad.file, bad.damage(whole));
        seal(checkpoint);
        const auto before = files_below(job.run_folder("run"));
        check_refused(run(job.train("run", {}, {"--resume"})),
                      {"error: " + checkpoint.string() + ": ", bad.expected});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
        job.write("run/checkpoints/step-00000002/" + bad.file, whole);
    }
    fs::remove(checkpoint / "optimizer.safetensors");
    check_refused(run(job.train("run", {}, {"--resume"})),
                  {checkpoint.string(), "optimizer.safetensors: cannot be read: No such file or directory"});
}
