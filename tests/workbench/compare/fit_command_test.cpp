// `switchyard fit` on the tiny job, for real.
#include "compared.h"

using namespace switchyard::test;

namespace {

// On random samples, which are all as long: what a step takes is then the same in every run.
nlohmann::json fitted(const TinyJob& job, const Words& more) {
    job.write("random.toml", R"([model]
type = "bert"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32
[task]
kind = "classification"
labels = ["bad", "good"]
)" + torch_slots("1e-3"));
    Words words{"fit", job.file("random.toml"), "--steps", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const auto json = run_json(words, 0);
    CHECK(schema_faults("fit.json", json) == no_faults);
    return json;
}

const nlohmann::json& size_of(const nlohmann::json& json, std::int64_t size) {
    for (const auto& one : json["sizes"])
        if (one["batch_size"] == size) return one;
    throw std::runtime_error("size " + std::to_string(size) + " was not tried");
}

}  // namespace

TEST_CASE("the largest batch of a memory has run in it, and the next one has not") {
    const TinyJob job;
    const auto some = fitted(job, {"--memory", "1GB", "--most", "16"});
    CHECK(some["batch_size"] == 16);
    CHECK(some["at_most"] == true);
    CHECK(some["sizes"].size() == 5);
    const auto peak = [](const nlohmann::json& json, std::int64_t size) {
        return size_of(json, size)["peak_memory_bytes"].get<std::int64_t>();
    };
    CHECK(peak(some, 16) > peak(some, 8));

    // Between two sizes: what a size takes differs a little from one run of it to the next.
    const auto memory = (peak(some, 8) + peak(some, 16)) / 2;
    const auto between = fitted(job, {"--memory", std::to_string(memory)});
    const auto largest = between["batch_size"].get<std::int64_t>();
    CHECK(largest > 8);
    CHECK(largest < 16);
    CHECK(size_of(between, largest)["outcome"] == "fits");
    CHECK(peak(between, largest) <= memory);
    CHECK(size_of(between, largest)["samples_per_second"].get<double>() > 0.0);
    CHECK(size_of(between, largest + 1)["outcome"] == "too_large");
}

TEST_CASE("a memory that is none, lengths of real data, and what fails at once are told") {
    const TinyJob job;
    const auto config = job.file("job.toml");
    check_refused(run({"fit", config, "--memory", "12 apples"}), {"--memory", "expected a size"});
    check_refused(run({"fit", config, "--memory", "1GB", "--lengths", "4-8"}), {"--lengths is for random"});
    check_refused(run({"fit", config, "--memory", "1GB", "--set", "batch.tokens=256"}),
                  {"batch.tokens: it limits a batch already"});
    const auto none = run({"fit", config, "--memory", "1000", "--steps", "1"});
    CHECK(none.code == 1);
    CHECK_THAT(none.out, contains("not even one sample fits into 1.00 kB"));
}

TEST_CASE("no batch is told to fit that the data cannot fill") {
    const TinyJob job;
    const auto json = run_json({"fit", job.file("job.toml"), "--memory", "1GB", "--steps", "1"}, 0);
    CHECK(json["at_most"] == true);
    CHECK(json["batch_size"].get<std::int64_t>() > 32);
    CHECK(json["batch_size"].get<std::int64_t>() <= 60);  // reviews that there are
    const auto shown = run({"fit", job.file("job.toml"), "--memory", "1GB", "--steps", "1"});
    CHECK_THAT(shown.out, contains("larger ones were not tried (the training data has no more samples)"));
}

TEST_CASE("a size whose loss is not finite is told, and is none that fits") {
    const TinyJob job;
    const auto outcome = run({"fit", job.file("job.toml"), "--memory", "1GB", "--most", "4", "--steps", "1",
                              "--set", "optimizer.lr=1e30", "--set", "optimizer.max_grad_norm=0"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains("batch.size = 1: the loss is not finite at step "));
}

TEST_CASE("training looks for the batch that fits, and goes on with the one that it found") {
    const TinyJob job;
    const std::string memory = "2MB";
    const auto begun = job.trained("run", {"batch.size=fit", "train.steps=2"}, {"--memory", memory});
    INFO(begun.err);
    REQUIRE(begun.code == 0);
    const auto told = begun.err.find("batch.size=");
    REQUIRE(told != std::string::npos);
    const auto size = begun.err.substr(told, begun.err.find(' ', told) - told);
    CHECK_THAT(begun.err, contains(size + " fits into 2.00 MB"));
    const auto largest = std::stol(size.substr(size.find('=') + 1));
    CHECK(largest > 1);
    CHECK_THAT(bytes_of(fs::path(job.run_folder("run")) / "config.toml"),
               contains("size = " + std::to_string(largest) + "\n"));
    REQUIRE(job.trained("same", {size, "train.steps=2"}).code == 0);
    CHECK(step_losses(job.run_folder("run")) == step_losses(job.run_folder("same")));

    // Nothing is looked for again: one byte would not do.
    const auto resumed = job.trained("run", {"batch.size=fit", "train.steps=4"},
                                     {"--resume", "--memory", "1", "--allow-change", "train.steps"});
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(resumed.err.find("fits into") == std::string::npos);
    CHECK(step_losses(job.run_folder("run")).size() == 4);
}

TEST_CASE("a batch that is to be found is for training in one process") {
    const TinyJob job;
    const auto config = job.file("job.toml");
    check_refused(
        run({"plan", config, "--set", "batch.size=fit"}),
        {"batch.size: \"fit\" is for train", "expected a number here", "`switchyard fit " + config + "`"});
    check_refused(run({"plan", config, "--set", "batch.size=fits"}), {"or \"fit\"; did you mean \"fit\"?"});
    check_refused(run({"train", config, "--set", "batch.size=fit", "--set", "batch.tokens=64", "--run",
                       job.run_folder("none")}),
                  {"batch.tokens limits a batch already"});
    CHECK(run({"config", "check", config, "--set", "batch.size=fit"}).code == 0);
    Words ranks{"launch", "-n", "2"};
    const auto train = job.train("ranks", {"batch.size=fit"});
    ranks.insert(ranks.end(), train.begin(), train.end());
    const auto refused = run(ranks);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("is for train in one process"));
    const auto none = run(job.train("none", {"batch.size=fit"}, {"--memory", "1000"}));
    CHECK(none.code == 1);
    CHECK_THAT(none.err, contains("not even one sample fits into 1.00 kB"));
    CHECK_FALSE(fs::exists(job.run_folder("none")));
}
