// `switchyard quantize`: folders of runs whose linear layers are stored in 8 or 4 bits. What they answer is
// what the component of the same name answers that quantizes in memory, bit for bit.
// To add a method: a line in `methods`.
#include "json_schema.h"
#include "safetensors_text.h"
#include "tiny_job.h"

#include <fstream>

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

const Words methods{"dynamic", "weight-int8", "weight-int4"};

std::string component(std::string method) {
    std::ranges::replace(method, '-', '_');
    return "int8/" + method;
}

json predicted(const std::string& run, const Words& more = {}) {
    Words words{"predict", run, "the film is lovely", "a dull plot"};
    words.insert(words.end(), more.begin(), more.end());
    return run_json(words)["predictions"];
}

// One run for all cases.
const TinyJob& trained_job() {
    static const TinyJob job;
    static const bool trained = job.trained("run", {}).code == 0;
    REQUIRE(trained);
    return job;
}

std::string trained_run() { return trained_job().run_folder("run"); }

json quantized(const std::string& method, const std::string& out, const Words& more = {}) {
    Words words{"quantize", trained_run(), "--method", method, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    auto told = run_json(words);
    CHECK(schema_faults("quantize.json", told) == no_faults);
    return told;
}

std::string new_folder(const std::string& name) { return (temporary_dir("quantize") / name).string(); }

}  // namespace

TEST_CASE("a quantized run answers as the component that quantizes in memory, and is smaller") {
    for (const auto& method : methods) {
        INFO(method);
        const auto out = new_folder(method);
        const auto told = quantized(method, out);
        CHECK(predicted(out) == predicted(trained_run(), {"--set", "linear.backend=" + component(method)}));
        CHECK(told["bytes"]["after"].get<double>() < 0.7 * told["bytes"]["before"].get<double>());
        CHECK(told["bytes"]["after"] == [&] {
            std::int64_t bytes = 0;
            for (const auto& [name, text] : files_below(fs::path(out) / "model"))
                bytes += static_cast<std::int64_t>(text.size());
            return bytes;
        }());
        CHECK(told["layers"].size() == 2 * 6 + 2);  // q, k, v, out, in, out; pooler, classifier
        for (const auto& layer : told["layers"]) {
            CHECK(layer["of"] == "output");
            CHECK(layer["error"].get<double>() > 0.0);
            CHECK(layer["error"].get<double>() < (method == "weight-int4" ? 0.3 : 0.05));
        }
        const auto& rows = trained_job().file("rows.tsv");
        const auto scores = run_json({"evaluate", out, rows});
        const auto in_memory =
            run_json({"evaluate", trained_run(), rows, "--set", "linear.backend=" + component(method)});
        CHECK(scores["loss"] == in_memory["loss"]);
    }
}

TEST_CASE("static scales come from the data that is named, and a wider range cuts nothing off") {
    const auto rows = trained_job().file("rows.tsv");
    const auto scales = [&](const std::string& out, const Words& more) {
        std::map<std::string, double> found;
        const auto told = quantized("static", out, more);
        for (const auto& layer : told["layers"]) found[layer["name"]] = layer["input_scale"].get<double>();
        return found;
    };
    const auto whole = new_folder("minmax"), part = new_folder("percentile"), least = new_folder("entropy");
    const auto widest = scales(whole, {"--calibrate", rows, "--range", "minmax"});
    const auto narrow = scales(part, {"--calibrate", rows, "--range", "percentile", "--percentile", "90"});
    const auto entropy = scales(least, {"--range", "entropy"});
    // Files to evaluate on do not change what is calibrated on: the run's own training data.
    CHECK(scales(new_folder("beside"), {"--range", "entropy", "--eval", rows}) == entropy);
    CHECK(widest.size() == 2 * 6 + 2);
    for (const auto& [layer, scale] : widest) {
        INFO(layer);
        CHECK(narrow.at(layer) < scale);
        CHECK(entropy.at(layer) <= 1.001 * scale);
    }
    // LayerNorm gives each row numbers whose squares have the mean 1, or nearly, once it is trained a little.
    const double most = 1.1 * std::sqrt(static_cast<double>(tiny_hidden));
    CHECK(widest.at("encoder.0.attention.q") <= most / 127.0);
    CHECK(widest.at("encoder.0.attention.q") >= 1.0 / 127.0);
    CHECK(widest.at("encoder.0.attention.q") == widest.at("encoder.0.attention.k"));
    // The classifier's input comes out of a tanh.
    CHECK(widest.at("classifier") <= 1.0 / 127.0);
    const auto answers = predicted(whole),
               dynamic = predicted(trained_run(), {"--set", "linear.backend=int8/dynamic"});
    for (std::size_t i = 0; i < answers.size(); ++i) {
        CHECK(answers[i]["label"] == dynamic[i]["label"]);
        const auto good = [i](const json& all) { return all[i]["probabilities"]["good"].get<double>(); };
        CHECK(good(answers) == Approx(good(dynamic)).margin(0.05));
    }
    CHECK(predicted(part) != answers);
}

TEST_CASE("the model folder of a regression is quantized with its scale") {
    const TinyJob job;
    std::string rows = "text\tprice\n";
    for (int i = 0; i < 40; ++i)
        rows += std::string("the film is ") + (i % 2 == 0 ? "lovely" : "dull") + "\t" +
                std::to_string(1000 + i) + "\n";
    REQUIRE(job.trained("run", {"task.kind=regression", "task.labels=[]", "data.label_column=price",
                                "data.train=[\"" + job.write("prices.tsv", rows) + "\"]"})
                .code == 0);
    const auto model = job.run_folder("run") + "/model", out = new_folder("regression");
    const auto outcome = run({"quantize", model, "--method", "dynamic", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto predictions = predicted(out);
    CHECK(predictions == predicted(model, {"--set", "linear.backend=int8/dynamic"}));
    CHECK(predictions[0]["values"]["price"].get<double>() > 900.0);
}

TEST_CASE("options of quantize that would change nothing are refused") {
    struct Case {
        std::string method;
        Words words;
        std::string expected;
    };
    const auto rows = trained_job().file("rows.tsv");
    const std::vector<Case> cases{
        {"dynamic",
         {"--range", "minmax"},
         "--range: error: says how --method static calibrates, and --method dynamic does not; expected "
         "--method static, or no --range"},
        {"weight-int8", {"--percentile", "99"}, "--percentile: error: says how --method static calibrates"},
        {"weight-int4", {"--samples", "8"}, "--samples: error: says how --method static calibrates"},
        // As quantization.method is written.
        {"weight_int4",
         {"--samples", "8"},
         "--samples: error: says how --method static calibrates, and --method weight-int4 does not"},
        {"static",
         {"--range", "entropy", "--percentile", "99"},
         "--percentile: error: is of --range percentile, and --range is entropy"},
        {"dynamic",
         {"--calibrate", rows, "--eval", rows},
         "--calibrate: error: --method dynamic does not calibrate, and there are other data to evaluate on"},
        {"dynamic", {"--calibrate", rows}, "--calibrate: error: --method dynamic does not calibrate"},
    };
    for (const auto& [method, more, expected] : cases) {
        const auto out = new_folder("unused");
        check_refused(run(with({"quantize", trained_run(), "--method", method, "--out", out}, more)),
                      {expected});
        CHECK_FALSE(fs::exists(out));
    }
    // Where nothing else is there to evaluate on, these files are.
    const auto told = run_json({"quantize", trained_run() + "/model", "--method", "dynamic", "--calibrate",
                                rows, "--out", new_folder("evaluated")});
    CHECK(told["before"]["samples"] == 60);
}

TEST_CASE("layers that are named stay floats, and so do those that cost too much") {
    const auto out = new_folder("skip");
    const auto told = quantized("weight-int4", out, {"--skip", "encoder.0.*", "--skip", "pooler"});
    for (const auto& layer : told["layers"]) {
        const auto name = layer["name"].get<std::string>();
        CHECK(layer["quantized"] == (!name.starts_with("encoder.0.") && name != "pooler"));
    }
    CHECK(predicted(out) != predicted(trained_run()));
    check_refused(run({"quantize", trained_run(), "--method", "dynamic", "--skip", "encoder.9.*", "--out",
                       new_folder("none")}),
                  {"--skip: error: \"encoder.9.*\" is the name of no linear layer"});
    check_refused(
        run({"quantize", trained_run(), "--method", "dynamic", "--skip", "*", "--out", new_folder("all")}),
        {"--skip: error: no linear layer is left to quantize"});
    const auto free = quantized("weight-int4", new_folder("free"), {"--max-drop", "1"});
    CHECK(free["left_out"] == json::array());
    const auto tight = quantized("dynamic", new_folder("tight"), {"--max-drop", "0.05"});
    CHECK(tight["after"]["accuracy"].get<double>() >= tight["before"]["accuracy"].get<double>() - 0.05);
}

TEST_CASE("--max-drop leaves out the layer that would cost too much, and no other") {
    const TinyJob job;
    const auto rows = job.file("rows.tsv");
    const auto list = "data.eval=[\"" + rows + "\"]";
    REQUIRE(job.trained("run", {"train.steps=40", "optimizer.lr=2e-3", list}).code == 0);
    const auto run_folder = job.run_folder("run");
    // One of the pooler's outputs is always 0, and its column in the classifier's weight is huge. As floats
    // that changes little; in 8 bits a scale for a row of such numbers leaves nothing of the others.
    const auto path = fs::path(run_folder) / "model/model.safetensors";
    auto file = SafetensorsText::of(bytes_of(path));
    const auto name_ending = [&](const std::string& end) {
        for (const auto& [name, entry] : file.header.items())
            if (name.ends_with(end)) return name;
        FAIL("no tensor's name ends with " << end);
        return std::string();
    };
    const auto set = [&](const std::string& end, std::size_t first, std::size_t step, std::size_t count,
                         float value) {
        const auto begin = file.header.at(name_ending(end)).at("data_offsets")[0].get<std::size_t>();
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(file.data.data() + begin + (first + i * step) * sizeof value, &value, sizeof value);
    };
    set("pooler.dense.weight", 0, 1, tiny_hidden, 0.0F);
    set("pooler.dense.bias", 0, 1, 1, 0.0F);
    set("classifier.weight", 0, tiny_hidden, tiny_classes, 1000.0F);
    std::ofstream(path, std::ios::binary) << file.text();

    const auto made = [&](const std::string& name, const Words& more) {
        auto told =
            run_json(with({"quantize", run_folder, "--method", "dynamic", "--out", new_folder(name)}, more));
        CHECK(schema_faults("quantize.json", told) == no_faults);
        return told;
    };
    const auto all = made("all", {});
    const auto accuracy = [](const json& told, const char* when) {
        return told[when]["accuracy"].get<double>();
    };
    REQUIRE(accuracy(all, "before") >= 0.9);
    CHECK(accuracy(all, "after") <= 0.6);
    const auto out = new_folder("within");
    const auto told =
        run_json({"quantize", run_folder, "--method", "dynamic", "--out", out, "--max-drop", "0.1"});
    CHECK(told["left_out"] == json::array({"classifier"}));
    CHECK(accuracy(told, "after") >= accuracy(told, "before") - 0.1);
    CHECK(told["layers"][0]["name"] == "classifier");
    for (const auto& layer : told["layers"]) CHECK(layer["quantized"] == (layer["name"] != "classifier"));
    // Whoever takes the folder gets that.
    CHECK_THAT(bytes_of(fs::path(out) / "config.toml"), contains("skip = [\"classifier\"]"));
    CHECK(run_json({"evaluate", out, rows})["accuracy"] == told["after"]["accuracy"]);
    // Patterns that are given stay, and are not counted as left out.
    const auto both = made("both", {"--max-drop", "0.1", "--skip", "encoder.0.*"});
    CHECK(both["left_out"] == json::array({"classifier"}));
}

TEST_CASE("a quantized file that is not what the configuration says is refused by name") {
    const auto out = new_folder("refused");
    quantized("weight-int8", out, {"--group", "16"});
    const auto refused = [&](const std::string& set, const Words& parts) {
        check_refused(run({"predict", out, "a dull plot", "--set", set}), parts);
    };
    refused("quantization.group=32", {"model.safetensors", "quantized as \"weight_int8, groups of 16\"",
                                      "[quantization] says \"weight_int8, groups of 32\""});
    refused("quantization.skip=[\"encoder.0.attention.q\"]",
            {"stores encoder.0.attention.q in 8 or 4 bits", "has no tensor for encoder.0.attention.q"});
    refused("quantization.group=24", {"quantization.group", "24 columns are no multiple of 16"});
    check_refused(run({"quantize", out, "--method", "dynamic", "--out", new_folder("twice")}),
                  {"is quantized already"});
    check_refused(run({"quantize", trained_run(), "--method", "dynamic", "--out", out}),
                  {"--out: error: " + out + " is there already"});
    check_refused(run({"quantize", trained_run(), "--method", "weight-int8", "--group", "24", "--out",
                       new_folder("group")}),
                  {"--group: error: expected a multiple of 16"});
    check_refused(
        run({"quantize", trained_run() + "/model", "--method", "static", "--out", new_folder("bare")}),
        {"--method static: error: there is no data to calibrate on", "--calibrate"});
    CHECK_FALSE(fs::exists(new_folder("bare")));
    const auto weights = fs::path(out) / "model/model.safetensors";
    fs::resize_file(weights, fs::file_size(weights) - 100);
    check_refused(run({"predict", out, "a dull plot"}), {"model.safetensors"});
}
