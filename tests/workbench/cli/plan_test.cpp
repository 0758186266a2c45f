// switchyard plan, with the plugins of this build. What the resolver says is tested in tests/kernel/resolver;
// here: what a user sees.
#include "run_switchyard.h"

#include "json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <switchyard/interfaces/verdict.h>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

using Json = nlohmann::json;

Json plan(std::vector<std::string> more = {}, const std::string& config = "configs/demo.toml") {
    more.insert(more.begin(), {"plan", config});
    return run_json(more);
}

std::string read(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a plan shows every slot with what was chosen, how, and why nothing else") {
    const auto text = run({"plan", "configs/demo.toml"});
    INFO(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("configs/demo.toml on this host: "));
    for (const char* slot : {"precision", "attention", "normalization", "normalization.embedding",
                             "activation", "loss", "optimizer", "data_loader"}) {
        CHECK_THAT(text.out, contains(std::string("\n") + slot + " "));
    }
    CHECK_THAT(text.out, contains("encoder.0-5"));
    CHECK_THAT(text.out, contains("train, eval"));
    CHECK_THAT(text.out, contains("not asked for: fused/fused, naive/naive"));
    const auto brief = run({"plan", "configs/demo.toml", "--brief"});
    CHECK(brief.code == 0);
    CHECK_THAT(brief.out, contains("\nattention ") && contains("\noptimizer ") && contains("named\n"));
    CHECK_THAT(brief.out, contains("parameters in float32 (auto), no loss scaling (auto)"));
    CHECK_THAT(brief.out, !contains("not asked for: ") && !contains(" does not serve it: "));
    CHECK(run({"plan", "configs/demo.toml", "--brief", "--verbose"}).code == 2);
    const auto verbose = run({"plan", "configs/demo.toml", "--verbose"});
    CHECK_THAT(verbose.out,
               contains("request: bfloat16 on cpu, padded, train, needs_grad, batch 1..32, heads 12"));
    CHECK_THAT(verbose.out, contains("/libtorch.so ("));
    CHECK_THAT(verbose.out, contains("backend: torch, from configs/demo.toml:"));
}

TEST_CASE("of a quantized run, a head that is the embedding table has 8 bits where layers have 4") {
    const auto chosen = [](const std::string& method) {
        const auto json = plan({"--set", "task.kind=causal_lm", "--set", "run.phases=[\"eval\"]", "--set",
                                "quantization.method=" + method, "--set", "linear.backend=" + method, "--set",
                                "quantization.skip_backend=[\"naive\"]"},
                               "configs/presets/mini-gpt.toml");
        std::map<std::string, std::string> found;
        for (const auto& slot : json.at("slots")) {
            const auto name = slot.at("slot").get<std::string>();
            if (name == "linear.lm_head" || name == "linear.feed_forward.in")
                found[name] = slot.at("chosen").at("plugin").get<std::string>() + "/" +
                              slot.at("chosen").at("component").get<std::string>();
        }
        return found;
    };
    using Chosen = std::map<std::string, std::string>;
    CHECK(chosen("weight_int4") ==
          Chosen{{"linear.feed_forward.in", "int8/weight_int4"}, {"linear.lm_head", "int8/weight_int8"}});
    CHECK(chosen("weight_int8") ==
          Chosen{{"linear.feed_forward.in", "int8/weight_int8"}, {"linear.lm_head", "int8/weight_int8"}});
    // No calibration finds a scale for it.
    CHECK(chosen("static") ==
          Chosen{{"linear.feed_forward.in", "int8/static"}, {"linear.lm_head", "naive/naive"}});
}

TEST_CASE("a plan has a JSON form with every key of the contract") {
    const auto json = plan();
    CHECK(schema_faults("plan.json", json) == no_faults);
    CHECK(json.at("ok") == true);
    for (const auto& slot : json.at("slots")) {
        CHECK(slot.at("candidates").size() >= 2);
        CHECK(slot.at("candidates").at(0).at("plugin") == slot.at("chosen").at("plugin"));
    }
    for (const char* config : {"configs/mixed-layers.toml", "configs/auto-gpt.toml"}) {
        CHECK(schema_faults("plan.json", plan({}, config)) == no_faults);
    }
}

TEST_CASE(
    "a plan for many ranks: memory of each, what travels and a simulated step, for machines that are not "
    "here") {
    const std::vector<std::string> on_h100{
        "--host", "h100", "--set", "run.device=cuda", "--set", "precision.backend=amp/bf16", "--ranks"};
    auto asked = on_h100;
    asked.push_back("1024");
    const auto json = plan(asked, "configs/auto-gpt.toml");
    CHECK(schema_faults("plan.json", json) == no_faults);
    const auto& ranks = json.at("ranks");
    CHECK(ranks.at("steps").size() == 11);
    CHECK(ranks.at("memory_bytes_there") == 85520809984);
    CHECK(ranks.at("steps").back().at("efficiency") < ranks.at("steps")[3].at("efficiency"));
    asked.insert(asked.begin(), {"plan", "configs/auto-gpt.toml"});
    asked.back() = "8";
    const auto text = run(asked);
    INFO(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("memory of each rank") && contains("one step of 8 ranks") &&
                             contains("40 % of what h100 multiplies at its best"));

    const auto here = run({"plan", "configs/demo.toml", "--ranks", "2"});
    CHECK(here.code == 2);
    CHECK_THAT(here.err, contains("what joins 2 ranks is not known; say it (--network GBYTES_PER_SECOND"));
    CHECK_THAT(run({"plan", "configs/demo.toml", "--ranks", "2", "--network", "fast"}).err,
               contains("--network: expected GB/s of one rank") && contains("got 'fast'"));
    CHECK_THAT(run({"plan", "configs/demo.toml", "--network", "2"}).err, contains("add --ranks N"));
    const auto on_cpus = run({"plan", "configs/auto-gpt.toml", "--ranks", "8", "--host", "h100"});
    CHECK(on_cpus.code == 2);
    CHECK_THAT(on_cpus.err, contains("[speed] and [network] of h100 are of its cuda devices") &&
                                contains("--set run.device=cuda"));
    CHECK_THAT(run({"plan", "configs/demo.toml", "--utilization", "0.9"}).err,
               contains("--utilization is for a plan of several ranks: add --ranks N"));
    CHECK_THAT(run({"plan", "configs/demo.toml", "--ranks", "2", "--network", "2", "--step-ms", "10",
                    "--utilization", "0.9"})
                   .err,
               contains("--step-ms tells what it takes: leave one of them out"));
}

TEST_CASE("a plan says what each stage of a pipeline has, keeps and waits for") {
    const std::vector<std::string> piped{"--set", "distributed.mesh.pipeline=3", "--set",
                                         "train.grad_accumulation_steps=4"};
    const auto json = plan(piped, "configs/demo.toml");
    CHECK(schema_faults("plan.json", json) == no_faults);
    CHECK(json.at("stages") == Json({"embeddings, encoder.0-1", "encoder.2-3", "encoder.4-5, head"}));
    auto asked = piped;
    asked.insert(asked.begin(), {"plan", "configs/demo.toml"});
    asked.insert(asked.end(), {"--ranks", "6", "--network", "2.6,51", "--step-ms", "100"});
    const auto text = run(asked);
    INFO(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("stage 1: encoder.2-3") && contains("one step of 6 ranks") &&
                             contains("of stages that are equal it is 33.3 % at least"));
}

TEST_CASE("a plan has no stage of which all is frozen, as training refuses it") {
    const auto planned = run({"plan", "configs/demo.toml", "--set", "distributed.mesh.pipeline=2", "--set",
                              R"(group=[{match=["embeddings.*","encoder.[012].*"],frozen=true}])"});
    CHECK(planned.code == 2);
    CHECK_THAT(planned.err,
               contains("distributed.mesh.pipeline: all parameters of stage 0 are frozen; expected "
                        "fewer ranks, so that each has some to train"));
}

TEST_CASE("the schema of a plan knows every code of a reason") {
    const auto schema = Json::parse(read((source_dir() / "docs/schema/plan.json").string()));
    const auto& codes = schema.at("$defs").at("reason").at("properties").at("code").at("enum");
    for (int i = 0; i <= static_cast<int>(Code::Internal); ++i) {
        const auto text = name(static_cast<Code>(i));
        INFO(text);
        CHECK(std::find(codes.begin(), codes.end(), text) != codes.end());
    }
}

TEST_CASE("swapping attention.backend changes the plan of attention and nothing else") {
    const auto before = plan(), after = plan({"--set", "attention.backend=naive"});
    REQUIRE(before.at("slots").size() == after.at("slots").size());
    int changed = 0;
    for (std::size_t i = 0; i < before.at("slots").size(); ++i) {
        const auto &a = before.at("slots").at(i), &b = after.at("slots").at(i);
        if (a.at("kind") != "attention") {
            CHECK(a == b);
            continue;
        }
        ++changed;
        for (const char* key :
             {"slot", "kind", "layers", "phase", "request", "request_in_words", "how", "error"})
            CHECK(a.at(key) == b.at(key));
        CHECK(a.at("chosen").at("plugin") == "torch");
        CHECK(b.at("chosen").at("plugin") == "naive");
        CHECK(a.at("chosen").at("request") == b.at("chosen").at("request"));
        CHECK_THAT(b.at("chosen").at("library").get<std::string>(), contains("libnaive.so"));
        CHECK(b.at("from") == "--set #1");
    }
    CHECK(changed == 2);
    CHECK(before.at("host") == after.at("host"));
}

TEST_CASE("swapping in the file does what --set does") {
    auto text = read((source_dir() / "configs/demo.toml").string());
    const auto line = text.find("[attention]\nbackend = \"torch\"");
    REQUIRE(line != std::string::npos);
    text.replace(line, 29, "[attention]\nbackend = \"naive\"");
    auto by_file = plan({}, write_temporary("demo.toml", text)),
         by_set = plan({"--set", "attention.backend=naive"});
    for (auto* json : {&by_file, &by_set}) {
        for (auto& slot : json->at("slots")) slot.erase("from");
    }
    CHECK(by_file == by_set);
}

TEST_CASE("the precision policy that is chosen decides the dtypes of the other slots") {
    std::map<std::string, std::string> dtypes;
    const auto json = plan({"--set", "precision.backend=torch/bf16"});
    for (const auto& slot : json.at("slots")) dtypes[slot.at("slot")] = slot.at("request").at("dtype");
    CHECK(dtypes.at("attention") == "bfloat16");
    CHECK(dtypes.at("activation") == "bfloat16");
    CHECK(dtypes.at("normalization") == "float32");
    CHECK(dtypes.at("loss") == "float32");
    CHECK(dtypes.at("optimizer") == "float32");
    const auto written = plan({"--set", "precision.compute_dtype=float16"});
    for (const auto& slot : written.at("slots")) {
        if (slot.at("slot") == "attention") CHECK(slot.at("request").at("dtype") == "float16");
    }
    CHECK_THAT(run({"plan", "configs/demo.toml", "--set", "precision.backend=torch/bf16"}).out,
               contains("  bfloat16  torch/torch"));
}

TEST_CASE("one word changes precision, and the plan shows what followed from it") {
    const auto facts = [](const std::string& policy) {
        std::string text;
        const auto json = plan({"--set", "precision.backend=" + policy});
        for (const auto& slot : json.at("slots")) {
            const auto& request = slot.at("request");
            if (slot.at("slot") == "precision") {
                text += request.at("dtype").get<std::string>() +
                        (request.at("loss_scaling").get<bool>() ? " scaled: " : ": ") +
                        slot.at("notes").at(0).get<std::string>();
            }
            if (slot.at("slot") != "optimizer") continue;
            text += "; optimizer " + request.at("dtype").get<std::string>() +
                    (request.at("master_weights").get<bool>() ? " masters" : "") +
                    (request.at("unscale").get<bool>() ? " unscale" : "");
        }
        return text;
    };
    CHECK(facts("amp/fp32") ==
          "float32: parameters in float32 (auto), no loss scaling (auto); optimizer float32");
    CHECK(facts("amp/bf16") ==
          "float32: parameters in float32 (auto), no loss scaling (auto); optimizer float32");
    CHECK(
        facts("amp/fp16") ==
        "float32 scaled: parameters in float32 (auto), the loss is scaled (auto); optimizer float32 unscale");
    CHECK(facts("amp/bf16_pure") ==
          "bfloat16: parameters in bfloat16 (auto) with float32 masters, no loss scaling (auto); optimizer "
          "bfloat16 masters");
    CHECK_THAT(run({"plan", "configs/demo.toml", "--set", "precision.backend=amp/bf16_pure"}).out,
               contains("parameters in bfloat16 (auto) with float32 masters, no loss scaling (auto)\n"));
}

TEST_CASE("what contradicts the policy is refused with what to do, and float16 without scaling warned of") {
    const auto refused = run({"plan", "configs/demo.toml", "--set", "precision.backend=amp/bf16_pure",
                              "--set", "precision.parameter_dtype=float32"});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("precision.parameter_dtype = \"float32\" (--set #2) contradicts "
                                     "amp/bf16_pure, which stores parameters in bfloat16: leave it out, or "
                                     "write \"auto\""));
    const auto warned = run({"plan", "configs/demo.toml", "--set", "precision.backend=amp/fp16", "--set",
                             "precision.loss_scaling=false"});
    CHECK(warned.code == 0);
    CHECK_THAT(warned.out,
               contains("warning: precision.loss_scaling = false (--set #2): amp/fp16 scales the loss "
                        "because small gradients do not fit its dtype"));
}

TEST_CASE("a plan for a GPU host is made without a device") {
    const auto text = run({"plan", "configs/llama-decode.toml", "--host", "h100"});
    INFO(text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("configs/llama-decode.toml on h100 (described): "));
    CHECK_THAT(text.out, contains("NVIDIA H100"));
    const auto json = plan({"--host", "h100"}, "configs/llama-decode.toml");
    CHECK(schema_faults("plan.json", json) == no_faults);
    CHECK(json.at("host").at("described") == true);
    for (const auto& slot : json.at("slots")) {
        CHECK(slot.at("chosen").at("request").at("device") == "cuda");
        CHECK((slot.at("phase") == "prefill" || slot.at("phase") == "decode"));
    }
}

TEST_CASE("a device that the host does not have is told once, with its place") {
    const auto outcome = run({"plan", "configs/llama-decode.toml", "--host", "laptop"});
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains("configs/llama-decode.toml:22:1: error: run.device: "));
    CHECK_THAT(
        outcome.err,
        contains(
            "laptop has no cuda device; expected cpu, or --host with one that has (a100, h100, h200)\n"));
}

TEST_CASE("a plan warns of 16-bit products that LibTorch makes one by one on its processor") {
    using Sets = std::vector<std::string>;
    const auto warnings = [](const std::string& host, const Sets& values) {  // each once, of all phases
        Sets arguments{"--host", host};
        for (const auto& value : values) arguments.insert(arguments.end(), {"--set", value});
        Sets all;
        const auto planned = plan(arguments);
        for (const auto& slot : planned.at("slots"))
            for (const std::string warning : slot.at("warnings"))
                if (std::ranges::find(all, warning) == all.end()) all.push_back(warning);
        return all;
    };
    // The laptop has AVX2 and no AVX-512; nobody's bfloat16 is slow on the servers.
    CHECK(warnings("laptop", {}) ==
          Sets{"torch/torch in attention: LibTorch multiplies numbers of 16 bits one by one on this "
               "processor, 5 times as slowly as float32 or more; set attention.backend = \"flash\", or "
               "compute in float32",
               "torch/torch in linear.attention.q,k,v,out and 4 other slots: LibTorch multiplies numbers of "
               "16 bits one by one on this processor, 5 to 25 times as slowly as float32; set "
               "linear.backend = \"gemm\", or compute in float32"});
    CHECK(warnings("h100", {}).empty());
    CHECK(warnings("laptop", {"precision.backend=torch/fp32"}).empty());
    CHECK(warnings("laptop", {"attention.backend=flash", "linear.backend=gemm"}).empty());
    const auto chunked = warnings("laptop", {"attention.backend=chunked", "linear.backend=gemm"});
    REQUIRE(chunked.size() == 1);
    CHECK_THAT(chunked[0], contains("chunked/chunked in attention: ") && contains("\"flash\""));
    CHECK(warnings("laptop", {"precision.backend=amp/fp16"}).size() == 2);
    CHECK(warnings("h100", {"precision.backend=amp/fp16"}).empty());
    // Phases whose notes are the same stay in one line.
    CHECK_THAT(run({"plan", "configs/demo.toml", "--host", "laptop", "--brief"}).out,
               contains("\nattention                   encoder.0-5  train, eval  bfloat16  torch/torch "));
}

TEST_CASE("an unknown host lists those that are described") {
    const auto outcome = run({"plan", "configs/demo.toml", "--host", "h1000"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("h100"));
    CHECK(outcome.err.starts_with("error: "));
    CHECK_FALSE(outcome.err.starts_with("error: error"));
}

TEST_CASE("a policy that serves no CPU is planned for a described device") {
    const std::vector<std::string> sets{"--host",          "h100",  "--set",
                                        "run.device=cuda", "--set", "precision.backend=fp8"};
    CHECK(plan(sets, "configs/demo.toml").at("ok") == true);
}

TEST_CASE(
    "a backend that cannot serve is an error with place, reasons and the nearest request, and nothing is "
    "written") {
    const auto folder = temporary_dir("plan");
    const auto json = (folder / "plan.json").string(), saved = (folder / "plan.saved").string();
    const auto file =
        write_temporary("lamb.toml", "[optimizer]\nbackend = \"torch\"\nalgorithm = \"lamb\"\n");
    const auto outcome = run({"plan", file, "--json", json, "--save", saved});
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains(file + ":2:"));
    CHECK_THAT(outcome.err, contains("error: optimizer.backend: \"torch\" does not serve this optimizer "
                                     "(optimizer of model in train)\n"
                                     "    backend = \"torch\"\n"));
    CHECK_THAT(outcome.err, contains("    torch/torch: algorithm: expected "));
    CHECK_THAT(outcome.err, contains("    torch/torch would serve: algorithm adamw instead of lamb\n"));
    CHECK_THAT(outcome.err, contains("    algorithm follows from optimizer.algorithm (" + file + ":3:"));
    CHECK_THAT(outcome.err, contains("    as it is, it is served by: fused/fused, naive/naive\n"));
    CHECK_FALSE(std::filesystem::exists(json));
    CHECK_FALSE(std::filesystem::exists(saved));
}

TEST_CASE("a refusal says which keys set what is refused, and where") {
    const auto file = write_temporary("window.toml",
                                      "[model]\ntype = \"gpt\"\nlayers = 2\nhidden_size = 60\nheads = 5\n"
                                      "soft_cap = 30.0\n[attention]\nbackend = [\"torch\", \"aten/aten\"]\n");
    const auto outcome = run({"plan", file});
    CHECK(outcome.code == 2);
    INFO(outcome.err);
    CHECK_THAT(outcome.err, contains("\n    masks: soft_cap follows from model.soft_cap (" + file + ":6:"));
    CHECK_THAT(outcome.err, contains("\n    masks: causal follows from model.type (" + file + ":2:"));
    CHECK_THAT(outcome.err, contains("\n    device follows from run.device (not written: as by default)\n"));
    CHECK_THAT(outcome.err, contains("\n    head_dim follows from model.hidden_size (" + file + ":4:"));
    CHECK_THAT(outcome.err, contains(", model.heads (" + file + ":5:"));
    CHECK_THAT(outcome.err,
               contains("\n    dtype follows from precision.compute_dtype and precision.backend (not "
                        "written: as by default)\n"));
}

TEST_CASE("names that mean nothing are all told at once") {
    const auto outcome = run({"plan", "configs/demo.toml", "--set", "attention.backend=torhc", "--set",
                              "loss.backend=torch@fancy"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("--set #1: error: attention.backend: there is no attention called "
                                     "\"torhc\"; did you mean \"torch\"?"));
    CHECK_THAT(outcome.err, contains("--set #2: error: loss.backend: torch/torch has no variant \"fancy\""));
}

TEST_CASE("a rule for some layers is named as the place of what it asks for") {
    const auto file = write_temporary(
        "rule.toml",
        "preset = \"minilm-l6\"\n[[layer]]\nmatch = \"encoder.2\"\nattention.backend = \"nothing\"\n");
    const auto outcome = run({"plan", file});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains(file + ":4:"));
    CHECK_THAT(outcome.err, contains("(attention of encoder.2 in train and eval)"));
}

TEST_CASE("a plan is saved, and a saved plan refuses what has changed") {
    const auto saved = (temporary_dir("saved") / "plan.saved").string();
    CHECK(run({"plan", "configs/demo.toml", "--save", saved}).code == 0);
    CHECK(schema_faults("saved_plan.json", Json::parse(read(saved))) == no_faults);
    CHECK(run({"plan", "configs/demo.toml", "--saved", saved}).code == 0);

    const auto changed =
        run({"plan", "configs/demo.toml", "--saved", saved, "--set", "attention.backend=naive"});
    CHECK(changed.code == 2);
    CHECK(changed.out.empty());
    CHECK_THAT(
        changed.err,
        contains(saved +
                 ": error: the plan differs from the saved one:\n"
                 "    attention, encoder.0-5, eval: saved torch/torch 1.0.0, now naive/naive 1.0.0\n"));

    auto other = Json::parse(read(saved));
    other.at("slots").at(0).at("content_hash") = "0123";
    std::ofstream(saved) << other;
    CHECK_THAT(run({"plan", "configs/demo.toml", "--saved", saved}).err,
               contains("has changed: saved content hash 0123, now "));
    std::ofstream(saved) << "nothing";
    CHECK_THAT(run({"plan", "configs/demo.toml", "--saved", saved}).err,
               contains("it is not a saved plan of `switchyard plan --save`"));
    CHECK_THAT(run({"plan", "configs/demo.toml", "--saved", saved + "x"}).err,
               contains(saved + "x: error: cannot be read"));
}

TEST_CASE("a broken plugin is named, and the others are planned with") {
    const auto folder = temporary_dir("broken");
    std::ofstream(folder / "libbroken.so") << "this is no library";
    const RunOptions options{{{"SWITCHYARD_PLUGIN_PATH", folder.string()}}};
    const auto outcome = run({"plan", "configs/demo.toml"}, options);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("Found, but no candidates for anything:\n" +
                                     (folder / "libbroken.so").string() + ": refused at gate manifest"));
}

TEST_CASE("a disabled plugin is told as the reason why it was not taken") {
    const auto outcome = run({"plan", "configs/demo.toml", "--set", "plugins.disabled=[\"torch\"]"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("\"torch\" does not serve this attention"));
    CHECK_THAT(outcome.err, contains("torch/torch: gate disabled: "));
    CHECK_THAT(outcome.err, contains("as it is, it is served by: fused/fused, naive/naive"));
}

TEST_CASE("without any usable plugin the error says where it looked") {
    nlohmann::json names = nlohmann::json::array();
    const auto listed = run_json({"plugins", "list"});
    for (const auto& plugin : listed["plugins"]) names.push_back(plugin["name"]);
    const auto outcome = run({"plan", "configs/auto-gpt.toml", "--set", "plugins.disabled=" + names.dump()});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("error: none of the plugins found can be used\n"));
    CHECK_THAT(outcome.err, contains("\nlooked in:\n"));
    CHECK_THAT(outcome.err, contains("(SWITCHYARD_PLUGIN_PATH): "));
}
