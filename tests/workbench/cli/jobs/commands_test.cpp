// What the commands say of a job: summary.json of `train`, the verdicts of `check`, the labels of `predict`,
// the totals of `model`.
// To add a planted fault: a line in the table of "a job that cannot learn".
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

json summary_of(const TinyJob& job, const std::string& name) {
    return json_of(fs::path(job.run_folder(name)) / "summary.json");
}

// {"plugin/component@variant": calls} of one slot and phase.
std::map<std::string, int> calls_of(const json& summary, const std::string& slot, const std::string& phase) {
    std::map<std::string, int> calls;
    for (const auto& row : summary["executed"][slot]) {
        if (row["phase"] != phase) continue;
        const auto variant = row["variant"].get<std::string>();
        calls[row["plugin"].get<std::string>() + "/" + row["component"].get<std::string>() +
              (variant.empty() ? "" : "@" + variant)] += row["calls"].get<int>();
    }
    return calls;
}

json diagnosis_of(const json& checked, const std::string& diagnosis) {
    for (const auto& found : checked["diagnoses"]) {
        if (found["name"] == diagnosis) return found;
    }
    FAIL("there is no diagnosis " << diagnosis);
    return {};
}

Words labels_of(const json& predictions) {
    Words labels;
    for (const auto& row : predictions["predictions"]) labels.push_back(row["label"]);
    return labels;
}

std::vector<fs::path> kept_peaks() {
    std::vector<fs::path> files;
    const auto measured = fs::path(std::getenv("XDG_CACHE_HOME")) / "switchyard/measured";
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(measured, ignored)) {
        if (entry.path().filename() == "matmul-float32.peak") files.push_back(entry.path());
    }
    return files;
}

constexpr int batch = 4, group = 3, steps = 8;

int batches_of(const json& rows) { return (rows["used"].get<int>() + batch - 1) / batch; }

// Micro-batches of the job's steps: groups of three, and a smaller one at the end of an epoch.
int micro_batches(int batches_per_epoch) {
    int total = 0, left = batches_per_epoch;
    for (int step = 0; step < steps; ++step) {
        const int taken = std::min(group, left);
        total += taken;
        left = left == taken ? batches_per_epoch : left - taken;
    }
    return total;
}

}  // namespace

TEST_CASE("summary.json shows what was executed, counted where it ran") {
    const JsonSchema schema(source_dir() / "docs/schema/summary.json");
    const TinyJob job;
    for (const std::string backend : {"naive", "torch"}) {
        INFO(backend);
        job.trained(backend, {"attention.backend=" + backend});
        const auto summary = summary_of(job, backend);
        CHECK(schema.faults(summary) == Words{});
        CHECK(summary["status"] == "finished");
        CHECK(summary["steps"] == steps);
        CHECK(summary["memory"]["parameters"] == 21410 * 4);
        CHECK(summary["memory"]["optimizer"] == 2 * 21410 * 4);

        const int trained = micro_batches(batches_of(summary["rows"]));
        const int evaluated = batches_of(summary["eval_rows"]);
        const bool naive = backend == "naive";
        using Calls = std::map<std::string, int>;
        const auto layers = static_cast<int>(tiny_layers);
        // LibTorch has no kernel with dropout on the CPU but the plain one.
        CHECK(calls_of(summary, "attention", "train") ==
              (naive ? Calls{{"naive/naive", layers * trained}}
                     : Calls{{"torch/torch@math", layers * trained}}));
        CHECK(calls_of(summary, "attention", "eval") ==
              (naive ? Calls{{"naive/naive", layers * evaluated}}
                     : Calls{{"torch/torch@flash", layers * evaluated}}));
        CHECK(calls_of(summary, "normalization", "train") == Calls{{"torch/torch", 2 * layers * trained}});
        CHECK(calls_of(summary, "normalization.embedding", "train") == Calls{{"torch/torch", trained}});
        CHECK(calls_of(summary, "activation", "eval") == Calls{{"torch/torch", layers * evaluated}});
        CHECK(calls_of(summary, "loss", "train") == Calls{{"torch/torch", trained}});
        CHECK(calls_of(summary, "data_loader", "train") == Calls{{"torch/torch", trained}});
        CHECK(calls_of(summary, "data_loader", "eval") == Calls{{"torch/torch", evaluated}});
    }
    // Another backend, the same computation: only rounding and the random numbers of dropout differ.
    job.trained("naive_off", {"attention.backend=naive", "model.attention_dropout=0"});
    job.trained("torch_off", {"model.attention_dropout=0"});
    const auto naive = step_losses(job.run_folder("naive_off"));
    for (const auto& [step, loss] : step_losses(job.run_folder("torch_off")))
        CHECK(naive.at(step) == Approx(loss).epsilon(1e-4));
}

TEST_CASE("metrics.jsonl and summary.json tell how much of the batches was padding") {
    const JsonSchema schema(source_dir() / "docs/schema/summary.json");
    const TinyJob job;
    const Words common{"train.grad_accumulation_steps=1", "train.log_every=1"};
    const auto trained = [&](const std::string& name, Words settings) {
        settings.insert(settings.begin(), common.begin(), common.end());
        job.trained(name, settings);
        const auto loader = summary_of(job, name)["loader"];
        CHECK(schema.faults(summary_of(job, name)) == Words{});
        const auto run = job.run_folder(name);
        const auto of_batch = lines_with(run, "tokens_per_batch"), padding = lines_with(run, "padding_share");
        REQUIRE(of_batch.size() == steps);
        double tokens = 0.0, places = 0.0, waited = 0.0;
        for (const auto& [step, wait] : lines_with(run, "wait_ms")) {
            tokens += of_batch.at(step);
            places += of_batch.at(step) / (1.0 - padding.at(step));
            waited += wait / 1000.0;
        }
        CHECK(loader["batches"] == steps);
        CHECK(loader["tokens_per_batch"].get<double>() == Approx(tokens / steps));
        CHECK(loader["padding_share"].get<double>() == Approx(1.0 - tokens / places).margin(1e-9));
        CHECK(loader["wait_seconds"].get<double>() == Approx(waited));
        return loader;
    };
    const auto padded = trained("padded", {});
    CHECK(padded["padding_share"] > 0.05);
    CHECK(padded["ready_batches"].is_null());
    const auto packed =
        trained("packed", {"batch.layout=packed", "batch.tokens=64", "data_loader.backend=batching/packed"});
    CHECK(packed["padding_share"] == 0.0);
    CHECK(packed["ready_batches"].is_number());
}

TEST_CASE("lines and summary tell the same operations over the measured peak") {
    const TinyJob job;
    job.trained("run", {"train.log_every=1"});
    const auto summary = summary_of(job, "run");
    const auto run = job.run_folder("run");
    const auto shares = lines_with(run, "mfu"), waits = lines_with(run, "wait_ms");
    REQUIRE(shares.size() == steps);
    double seconds_of_peak = 0.0;
    for (const auto& [step, ms] : lines_with(run, "step_ms")) {
        CHECK(shares.at(step) > 0.0);
        seconds_of_peak += shares.at(step) * (ms + waits.at(step)) / 1000.0;
    }
    const double trained = summary["train_seconds"];
    CHECK(summary["mfu"].get<double>() * trained == Approx(seconds_of_peak));
    CHECK(summary["matmul_peak"]["dtype"] == "float32");
    // Six operations a token for each weight of the layers, at least.
    const double operations = seconds_of_peak * summary["matmul_peak"]["flops_per_second"].get<double>();
    CHECK(operations > summary["tokens_per_second"].get<double>() * trained * 6 * 1000);
}

TEST_CASE("a peak that is kept holds for a day, or until what reached it gets faster") {
    const TinyJob job;
    for (const auto& file : kept_peaks()) fs::remove(file);
    const auto peak_of = [&](const std::string& name) {
        job.trained(name, {"train.steps=1"});
        return summary_of(job, name)["matmul_peak"]["flops_per_second"].get<double>();
    };
    const double measured = peak_of("first");
    CHECK(measured > 1e6);
    const auto files = kept_peaks();
    REQUIRE(files.size() == 1);
    const auto keep = [&](double rate, int hours) {
        std::ofstream(files[0]) << nlohmann::json{{"flops_per_second", rate}, {"of", "mm of 512 x 512"}};
        const auto written = fs::file_time_type::clock::now() - std::chrono::hours(hours);
        fs::last_write_time(files[0], written);
        return fs::last_write_time(files[0]);
    };
    // Only a measurement of all products changes the file or its time.
    const auto recent = keep(1e18, 2);
    CHECK(peak_of("recent") == 1e18);
    CHECK(fs::last_write_time(files[0]) == recent);
    const auto old = keep(1e18, 48);
    CHECK(peak_of("old") == 1e18);
    CHECK(fs::last_write_time(files[0]) > old + std::chrono::hours(24));
    keep(1.0, 2);
    const double raised = peak_of("low");
    CHECK(raised > 1e6);
    CHECK(nlohmann::json::parse(bytes_of(files[0].string()))["flops_per_second"] == raised);
}

TEST_CASE("a run that is finished stays as it is when it is resumed") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto files = files_below(job.run_folder("run"));
    const JsonSchema schema(source_dir() / "docs/schema/summary.json");
    CHECK(schema.faults(summary_of(job, "run")) == Words{});
    CHECK_THAT(job.trained("run", {"train.steps=1"}, {"--resume"}).err,
               contains(job.run_folder("run") + ": is finished, after 1 step; nothing was changed."));
    CHECK(files_below(job.run_folder("run")) == files);
    // Unless its model is to be made again.
    fs::remove_all(job.run_folder("run") + "/model");
    job.trained("run", {"train.steps=1"}, {"--resume"});
    CHECK(files_below(job.run_folder("run"))["model/model.safetensors"] ==
          files.at("model/model.safetensors"));
    const auto summary = summary_of(job, "run");
    CHECK(schema.faults(summary) == Words{});
    CHECK(summary["train_loss"].is_null());
    CHECK(summary["eval"].is_object());
    CHECK(eval_losses(job.run_folder("run")).size() == 1);
}

TEST_CASE("check finds nothing wrong with a healthy job") {
    const TinyJob job;
    RunOptions options;
    options.folder = temporary_dir("work").string();
    const auto checked =
        run_json({"diagnose", job.file("job.toml"), "--set", "optimizer.lr=3e-3"}, 0, options);
    CHECK(checked["healthy"] == true);
    REQUIRE(checked["diagnoses"].size() == 9);
    for (const auto& found : checked["diagnoses"]) {
        INFO(found.dump());
        // bert sees the future by its nature.
        const bool causal = found["name"] == "the future does not leak into the past";
        CHECK(found["health"] == (causal ? "skipped" : "good"));
    }
    CHECK(fs::is_empty(options.folder));  // it leaves no run

    // A loss scale is no size of the gradients, and where it makes them overflow training lowers it.
    const std::string gradients = "gradients neither vanish nor explode";
    const auto scaled =
        run_json({"diagnose", job.file("job.toml"), "--set", "optimizer.lr=3e-3", "--set",
                  "precision.backend=amp/fp16", "--set", "precision.options.fp16.init_scale=1e10"});
    const auto found = diagnosis_of(scaled, gradients);
    INFO(found.dump());
    CHECK(found["health"] == "good");
    const auto size = [&](const json& of) {
        const auto text = diagnosis_of(of, gradients)["finding"].get<std::string>();
        return std::stod(text.substr(text.find("from ") + 5));
    };
    CHECK(size(scaled) == Approx(size(checked)).epsilon(0.5));  // small gradients round coarsely in float16
}

TEST_CASE("check says nothing of the gradients of layers where none is trained") {
    const TinyJob job;
    const auto checked = run_json({"diagnose", job.file("job.toml"), "--set", "optimizer.lr=0", "--set",
                                   R"(group=[{match=["encoder.*"],frozen=true}])"},
                                  1);
    const auto found = diagnosis_of(checked, "gradients neither vanish nor explode");
    CHECK(found["health"] == "skipped");
    CHECK(found["finding"] == "no layer is trained");
}

TEST_CASE("check says what is wrong with a job that cannot learn") {
    struct Planted {
        Words sets;
        std::string diagnosis, advice;
    };
    const TinyJob job;
    const std::string by_heart = "one batch can be memorized", falls = "the loss of the first steps falls";
    const Planted faults[] = {
        {{"optimizer.lr=0"}, by_heart, "optimizer.lr is not far too small or large"},
        {{"optimizer.lr=1e4"}, falls, "try a tenth of optimizer.lr"},
    };
    for (const auto& fault : faults) {
        INFO(fault.sets.front());
        Words words{"diagnose", job.file("job.toml")};
        for (const auto& set : fault.sets) words.insert(words.end(), {"--set", set});
        const auto checked = run_json(words, 1);
        CHECK(checked["healthy"] == false);
        const auto found = diagnosis_of(checked, fault.diagnosis);
        CHECK(found["health"] == "BAD");
        CHECK_THAT(found["advice"].get<std::string>(), contains(fault.advice));
    }
    const auto shown = run({"diagnose", job.file("job.toml"), "--set", "optimizer.lr=0"});
    CHECK(shown.code == 1);
    CHECK_THAT(shown.out, contains("\nBAD  " + by_heart + ": loss 0.69"));
    CHECK_THAT(shown.out, contains("\n    try: "));
}

TEST_CASE("predict labels sentences and the lines of a file") {
    const TinyJob job;
    job.trained("run", {"train.steps=80", "train.grad_accumulation_steps=1", "optimizer.lr=3e-3"});
    const auto folder = job.run_folder("run");
    const Words sentences{"The story is funny and brave.", "a dull, flat script", "the cast is gentle"};
    const Words expected{"good", "bad", "good"};

    Words words{"predict", folder, "--set", "run.seed=5"};  // which takes one value, and no text behind it
    words.insert(words.end(), sentences.begin(), sentences.end());
    const auto predicted = run_json(words);
    CHECK(labels_of(predicted) == expected);
    for (const auto& row : predicted["predictions"]) {
        const double good = row["probabilities"]["good"], bad = row["probabilities"]["bad"];
        CHECK(good + bad == Approx(1.0));
        CHECK((good > bad) == (row["label"] == "good"));
    }

    std::string lines;
    for (const auto& sentence : sentences) lines += sentence + "\n";
    RunOptions options;
    options.input = job.write("sentences.txt", lines);
    const auto from_file = run_json({"predict", folder}, 0, options);
    CHECK(labels_of(from_file) == expected);
    CHECK(from_file["predictions"] == predicted["predictions"]);

    const auto shown = run(words);
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, contains("bad ") && contains(" %") && contains("a dull, flat script\n"));
}

TEST_CASE("predict needs texts and a finished run") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    RunOptions nothing;
    nothing.input = job.write("empty.txt", "");
    const auto without = run({"predict", job.run_folder("run")}, nothing);
    CHECK(without.code == 2);
    CHECK_THAT(without.err, contains("nothing to classify"));

    for (const char* const part : {"/model", "/checkpoints"}) fs::remove_all(job.run_folder("run") + part);
    const auto unfinished = run({"predict", job.run_folder("run"), "a film"});
    CHECK(unfinished.code == 2);
    CHECK_THAT(unfinished.err, contains(job.run_folder("run") + "/model"));

    const auto none = run({"predict", job.run_folder("none"), "a film"});
    CHECK(none.code == 2);
    CHECK_THAT(none.err, contains(job.run_folder("none") +
                                  ": error: there is no such folder; expected the folder of a run"));
}

TEST_CASE("model counts every parameter") {
    constexpr auto h = tiny_hidden, i = tiny_intermediate;
    constexpr auto norm = 2 * h;
    constexpr auto embeddings = (tiny_vocabulary + tiny_positions + 2) * h + norm;
    constexpr auto attention = 4 * (h * h + h) + norm;
    constexpr auto feed_forward = h * i + i + i * h + h + norm;
    constexpr auto head = h * h + h + h * tiny_classes + tiny_classes;
    constexpr auto all = embeddings + tiny_layers * (attention + feed_forward) + head;
    static_assert(all == 21410);

    const TinyJob job;
    const auto model = run_json({"model", job.file("job.toml")});
    CHECK(model["parameters"] == all);
    CHECK(model["parameter_dtype"] == "float32");
    CHECK(model["parameter_bytes"] == 4 * all);
    CHECK(model["activation_bytes"].is_number_integer());
    std::map<std::string, std::int64_t> parts;
    for (const auto& part : model["parts"]) parts[part["name"]] = part["parameters"];
    CHECK(parts ==
          std::map<std::string, std::int64_t>{{"embeddings", embeddings},
                                              {"encoder.0-1 attention", tiny_layers * attention},
                                              {"encoder.0-1 feed-forward", tiny_layers * feed_forward},
                                              {"head", head}});
    CHECK_THAT(run({"model", job.file("job.toml")}).out, contains("all") && contains("21.41 k"));
}

TEST_CASE(
    "the first run of a job with auto times the components, later ones do not, and a resumed one keeps its "
    "choices") {
    const TinyJob job;
    const auto cache = cache_without_measurements();
    const RunOptions options{{{"SWITCHYARD_CACHE", cache}}};
    const Words sets{"loss.backend=auto", "activation.backend=auto", "runtime.keep_times=always"};
    auto wrong_data = sets;
    wrong_data.emplace_back("data.eval_fraction=1e-12");
    const auto wrong = run(job.train("wrong", wrong_data), options);
    CHECK_THAT(wrong.err, contains("no text was held out") && !contains("auto"));
    auto misspelt = sets;
    misspelt.emplace_back("attention.backend=tourch");
    const auto unknown = run(job.train("misspelt", misspelt), options);
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, contains("there is no attention called \"tourch\"") && !contains("auto: timed"));
    CHECK_FALSE(fs::exists(cache + "/measured"));
    const auto first = run(job.train("first", sets), options);
    INFO(first.err);
    CHECK(first.code == 0);
    CHECK_THAT(first.err, contains("auto: timed the candidates for 4 kinds of request on this host in "));
    CHECK_THAT(first.err, contains("; saved in " + cache + "/measured/"));
    const auto plan = json_of(job.run_folder("first") + "/plan.json");
    const auto how_of = [](const nlohmann::json& plan, const std::string& name) {
        for (const auto& slot : plan.at("slots")) {
            if (slot.at("slot") == name) return slot.at("how").get<std::string>();
        }
        return std::string{};
    };
    CHECK_THAT(how_of(plan, "loss"), contains("auto: measured "));

    const auto second = run(job.train("second", sets), options);
    CHECK(second.code == 0);
    CHECK_THAT(second.err, !contains("auto: timed"));
    CHECK(step_losses(job.run_folder("first")) == step_losses(job.run_folder("second")));

    // Nothing is remembered any more, and yet the choices stay.
    fs::remove_all(cache + "/measured");
    auto more = sets;
    more.push_back("train.steps=10");
    const auto resumed = run(job.train("first", more, {"--resume"}), options);
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK_THAT(resumed.err, !contains("auto: timed"));
    CHECK(how_of(json_of(job.run_folder("first") + "/plan.json"), "loss") ==
          "auto: as in " + job.run_folder("first") + "/plan.json");
}
