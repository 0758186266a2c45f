// switchyard tune, with the plugins of this build and a cache of each test's own. The rule over times is
// tested in tests/kernel/resolver; here: that every request of a model can be timed, that times are
// remembered, and that plans say so. To add a model: a configuration below.
#include "progress_lines.h"
#include "run_switchyard.h"

#include "json_schema.h"

#include <filesystem>
#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr const char* tiny_gpt = R"(
[model]
type = "gpt"
layers = 2
hidden_size = 32
heads = 4
kv_heads = 2
vocab_size = 100
max_positions = 32
[batch]
size = 2
max_length = 16
[runtime]
threads = 1
[task]
kind = "causal_lm"
)";

// What other models ask for, on top: every mask, layout, phase and form that the makers of problems know.
struct Other {
    const char* name;
    const char* text;
};
const Other others[] = {
    {"packed",
     "run.phases=[\"train\",\"eval\",\"prefill\",\"decode\"];batch.layout=packed;model.window=8;"
     "loss.projection=true;loss.z_loss=1e-4"},
    {"biased",
     "model.type=bert;task.kind=masked_lm;model.positions=alibi;model.soft_cap=20;model.kv_heads=4;"
     "loss.projection=true;loss.label_smoothing=0.1;model.norm=rms_norm;optimizer.algorithm=lion"},
    {"relative",
     "model.type=t5;task.kind=seq2seq;model.kv_heads=4;precision.backend=torch/bf16;"
     "batch.min_length=16;optimizer.algorithm=sgd"},
    {"prefix", "model.prefix=4;model.bias=false;model.activation=swiglu;precision.backend=torch/bf16"},
};

// One slot is enough where every slot would be measured again.
const std::vector<std::string> one_slot{"--slot", "activation"};

struct Place {
    fs::path folder = temporary_dir("tune");
    fs::path cache = cache_without_measurements();
    RunOptions options{{{"SWITCHYARD_CACHE", cache.string()}}};
    std::string config = (folder / "gpt.toml").string();

    explicit Place(const std::string& more = "") { std::ofstream(config) << tiny_gpt << more; }

    Outcome tune(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"tune", config});
        return run(more, options);
    }
    Json tune_json(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"tune", config});
        return run_json(more, 0, options);
    }
    Outcome plan(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"plan", config});
        return run(more, options);
    }
    std::vector<fs::path> measurement_cache() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::recursive_directory_iterator(cache / "measured")) {
            if (entry.is_regular_file()) files.push_back(entry.path());
        }
        return files;
    }
};

std::vector<std::string> sets_of(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(';', begin), text.size());
        words.insert(words.end(), {"--set", text.substr(begin, end - begin)});
        begin = end + 1;
    }
    return words;
}

void check_all_timed(const Json& json) {
    CHECK(schema_faults("tune.json", json) == no_faults);
    CHECK(json.at("slots").size() >= 8);
    for (const auto& slot : json.at("slots")) {
        const auto& measured = slot.at("measured");
        CHECK(measured.at("candidates").size() >= 2);
        for (const auto& candidate : measured.at("candidates")) {
            INFO(measured.at("class") << ": " << candidate);
            CHECK(candidate.at("failure") == "");
            CHECK(candidate.at("ms").is_number());
        }
    }
}

}  // namespace

TEST_CASE("tune times what auto chooses between, remembers it, and plans go by it") {
    const Place place;
    const auto before = place.plan();
    CHECK_THAT(before.out, contains("auto: by priority (not measured on this host)"));
    CHECK_THAT(before.out, contains("auto: by priority (a data_loader is not measured)"));
    CHECK_THAT(before.out,
               contains("`switchyard tune " + place.config + "` measures what auto chooses from"));
    CHECK_FALSE(fs::exists(place.cache / "measured"));

    const auto first = place.tune_json();
    check_all_timed(first);
    const auto again = place.tune();
    INFO(again.out << again.err);
    CHECK(again.code == 0);
    CHECK_THAT(again.out, contains("0 slots measured in "));
    CHECK_THAT(again.out, contains("chosen"));
    CHECK_THAT(again.out, contains("precision is chosen by priority: a precision is not measured"));
    CHECK(place.tune_json().at("slots").at(0).at("measured") == first.at("slots").at(0).at("measured"));

    const auto after = place.plan();
    CHECK_THAT(after.out, contains("  auto: measured "));
    CHECK_THAT(after.out, !contains("not measured on this host"));
    CHECK_THAT(after.out, !contains("switchyard tune"));
    const auto json = run_json({"plan", place.config}, 0, place.options);
    CHECK(schema_faults("plan.json", json) == no_faults);
    for (const auto& slot : json.at("slots")) {
        const bool timed = slot.at("kind") != "precision" && slot.at("kind") != "data_loader";
        CHECK(slot.at("measured").is_object() == timed);
        if (timed)
            CHECK(slot.at("measured")
                      .at("class")
                      .get<std::string>()
                      .starts_with(slot.at("kind").get<std::string>()));
    }
}

TEST_CASE("a time that is not of the model's own sizes says what it is of") {
    const Place place;
    const std::vector<std::string> large{"--set", "batch.size=8192"};
    const auto outcome = place.tune({"--slot", "optimizer", "--slot", "activation", large[0], large[1]});
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.out,
               contains("; timed on 20 tensors of 2.1 million values, whatever the model has; "));
    CHECK_THAT(outcome.out, contains("; timed on 16384 rows; "));
    const auto plan = place.plan(large);
    CHECK_THAT(plan.out, contains(", on 20 tensors of 2.1 million values, whatever the model has, "));
    CHECK_THAT(place.tune({"--slot", "activation"}).out, !contains("timed on"));
}

TEST_CASE("every form of request that the models make can be timed") {
    const Place place;
    for (const auto& other : others) {
        INFO(other.name);
        check_all_timed(place.tune_json(sets_of(other.text)));
    }
}

TEST_CASE("uses of one class with other options are each measured and keep their times") {
    const Place place("[[layer]]\nmatch = \"decoder.1\"\nattention.options.chunked.chunk_size = 9\n");
    const std::vector<std::vector<std::string>> commands{{"--slot", "attention"},
                                                         {"--slot", "attention", "--again"}};
    for (const auto& command : commands) {
        const auto json = place.tune_json(command);
        REQUIRE(json.at("slots").size() == 4);  // two layers, to train and to evaluate
        for (const auto& slot : json.at("slots")) {
            INFO(slot.at("layers") << ", " << slot.at("phase"));
            CHECK(slot.at("known_before") == false);
        }
        CHECK(place.measurement_cache().size() == 4);
    }
    const auto plan = run_json({"plan", place.config}, 0, place.options);
    for (const auto& slot : plan.at("slots")) {
        INFO(slot.at("slot") << " of " << slot.at("layers"));
        CHECK(slot.at("measured").is_object() == (slot.at("kind") == "attention"));
    }
}

TEST_CASE("nobody warns of a component that was measured to be the fastest") {
    const Place place;
    const std::vector<std::string> low{"--set", "precision.backend=torch/bf16", "--set",
                                       "plugins.disabled=[\"gemm\"]"};
    auto linear = low;
    linear.insert(linear.end(), {"--slot", "linear"});
    REQUIRE(place.tune(linear).code == 0);
    const auto plan = place.plan(low).out;
    CHECK_THAT(plan, contains("auto: measured"));
    CHECK_THAT(plan, !contains("torch/torch in linear"));
}

TEST_CASE("measurements hold for the host, the threads and the allocator with which they were taken") {
    const Place place;
    REQUIRE(place.tune(one_slot).code == 0);
    CHECK(place.measurement_cache().size() == 2);
    const auto measured = [&](std::vector<std::string> more) {
        return place.plan(std::move(more)).out.find("auto: measured") != std::string::npos;
    };
    CHECK(measured({}));
    CHECK_FALSE(measured({"--set", "runtime.threads=2"}));
    CHECK_FALSE(measured({"--set", "runtime.allocator=malloc"}));
    CHECK_FALSE(measured({"--set", "model.intermediate_size=64"}));
    CHECK_FALSE(measured({"--host", "laptop"}));
    CHECK_THAT(place.plan({"--host", "laptop"}).out,
               contains("auto: by priority (laptop is only described)"));
    CHECK_THAT(place.plan({"--set", "runtime.auto=priority"}).out,
               contains("auto: by priority (runtime.auto)"));
    CHECK_THAT(place.plan({"--set", "run.deterministic=true"}).out,
               contains("auto: by priority (run.deterministic)"));
    CHECK(measured({"--set", "batch.size=1", "--set", "batch.max_length=32"}));  // as many rows
}

TEST_CASE("a file that holds no measurement is told, not used, and measured again") {
    const Place place;
    REQUIRE(place.tune(one_slot).code == 0);
    const auto files = place.measurement_cache();
    REQUIRE(files.size() == 2);
    std::ofstream(files[0], std::ios::trunc) << "{\"switchyard_measurement\": 1, \"cl";
    const auto plan = place.plan();
    CHECK(plan.code == 0);
    CHECK_THAT(plan.err,
               contains("note: " + files[0].string() + ": is not a valid measurement and is ignored: "));
    const auto json = place.tune_json(one_slot);
    REQUIRE(json.at("slots").size() == 2);
    CHECK(json.at("slots").at(0).at("known_before") != json.at("slots").at(1).at("known_before"));
    CHECK(without_progress(place.plan().err).empty());
    const auto again = place.tune_json({"--slot", "activation", "--again"});
    for (const auto& slot : again.at("slots")) CHECK(slot.at("known_before") == false);
}

TEST_CASE("where nothing can be remembered, tune says so and ends with 1") {
    const Place place;
    std::ofstream(place.cache / "measured") << "in the way";
    const auto outcome = place.tune(one_slot);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, contains("chosen"));
    CHECK_THAT(outcome.err, contains("error: the measurements could not be saved: "));
    CHECK_THAT(outcome.err, contains("cannot be created: "));
}

TEST_CASE("a component that throws or gives what is not finite is out, and the plan says why") {
    Place place;
    place.options.environment["SWITCHYARD_PLUGIN_PATH"] =
        (build_dir() / "lib/switchyard/plugins").string() + ":" +
        (build_dir() / "tests/support/plugins/errs").string();
    const auto json = place.tune_json({"--slot", "attention"});
    int out = 0;
    for (const auto& slot : json.at("slots")) {
        for (const auto& candidate : slot.at("measured").at("candidates"))
            out += candidate.at("failure") != "" ? 1 : 0;
        CHECK_FALSE(slot.at("chosen").get<std::string>().starts_with("test_errs/throwing"));
    }
    CHECK(out > 0);
    CHECK_THAT(place.plan().out, contains("out when it was measured: it threw: "));
    CHECK_THAT(place.tune({"--slot", "attention"}).out, contains("out: it threw: "));
}

TEST_CASE("a component that finds no memory is out for now, and such times are not kept") {
    Place place;
    place.options.environment["SWITCHYARD_PLUGIN_PATH"] =
        (build_dir() / "lib/switchyard/plugins").string() + ":" +
        (build_dir() / "tests/support/plugins/errs").string();
    const auto outcome = place.tune({"--slot", "attention", "--set", "model.window=8"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("attention.forward: std::bad_alloc") && !contains("; saved in "));
    CHECK_THAT(outcome.err, contains("warning: a candidate for 2 kinds of request is out because there was "
                                     "no memory for it: these times are not kept"));
    CHECK_FALSE(fs::exists(place.cache / "measured"));
    CHECK_THAT(place.plan({"--set", "model.window=8"}).out, !contains("out when it was measured"));
}

TEST_CASE("slots that cannot be measured are told all at once, with what was meant") {
    const Place place("[attention]\nbackend = \"torch\"\n");
    const auto check = [&](std::vector<std::string> more, const std::string& text) {
        const auto outcome = place.tune(std::move(more));
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains(text));
    };
    check({"--slot", "atention"},
          "error: --slot atention: this model has no such slot; did you mean attention? It has activation, "
          "attention, ");
    check({"--slot", "loss", "--slot", "attention", "--slot", "precision"},
          "error: --slot attention: its backend is torch (" + place.config +
              ":18:1); only auto is measured\nerror: --slot precision: a precision is not measured\n");
    check({"--set", "runtime.auto=priority"},
          "error: runtime.auto: auto chooses by priority here, so nothing is measured");
    check({"--set", "run.deterministic=true"}, "error: run.deterministic: auto chooses by priority here");
    check({"--set", "attention.backend=torhc"}, "did you mean \"torch\"?");
    check({"--set", "runtime.auto=fastest"}, "runtime.auto");

    const auto nothing = run({"tune", "configs/demo.toml"}, place.options);
    CHECK(nothing.code == 0);
    CHECK_THAT(nothing.out, contains("nothing to measure: no slot of configs/demo.toml leaves a choice"));
}
