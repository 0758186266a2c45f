// Two and more arms of the tiny job, for real: what they are held to is what they computed, never how long it
// took.
// To add a case: arms, and what must stand in the JSON.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/workbench/report/run_record.h"

#include "compared.h"
#include "read_back.h"

using namespace switchyard::test;

TEST_CASE("two backends: equal losses, no drift beyond rounding, what ran") {
    const TinyJob job;
    const auto json = compared(job, {"--vary", "attention.backend=naive,torch", "--set", "model.dropout=0",
                                     "--set", "model.attention_dropout=0"});
    REQUIRE(json["arms"].size() == 2);
    for (const auto& arm : json["arms"]) {
        CHECK(arm["status"] == "ok");
        CHECK(arm["dtype"] == "float32");
        CHECK(std::count_if(arm["blocks"].begin(), arm["blocks"].end(),
                            [](const auto& block) { return block["repeated"] == false; }) == 2);
        CHECK(arm["samples_per_second"].get<double>() > 0.0);
        CHECK(arm["tokens_per_second"].get<double>() > arm["samples_per_second"].get<double>());
        CHECK(arm["peak_memory_bytes"].get<std::int64_t>() > 100'000);
        CHECK(arm["executed"]["optimizer"][0]["plugin"] == "torch");
    }
    CHECK(json["arms"][0]["name"] == "attention=naive");
    CHECK(json["arms"][0]["executed"]["attention"][0]["plugin"] == "naive");
    CHECK(json["arms"][1]["executed"]["attention"][0]["plugin"] == "torch");
    const auto& drift = json["arms"][1]["drift"];
    CHECK(drift["output"].get<double>() < json["arms"][1]["drift_allowed"]["output"].get<double>());
    CHECK(drift["gradient"].get<double>() < json["arms"][1]["drift_allowed"]["gradient"].get<double>());
    CHECK(json["arms"][1]["drift_allowed"]["gradient"].get<double>() < 1e-3);
    // The same weights, batches and order: the losses run along each other.
    const auto &naive = json["arms"][0]["losses"], &torch = json["arms"][1]["losses"];
    REQUIRE(naive.size() == torch.size());
    REQUIRE(naive.size() >= 4);
    for (std::size_t step = 0; step < naive.size(); ++step)
        CHECK(naive[step].get<double>() == Approx(torch[step].get<double>()).epsilon(1e-3));
    REQUIRE(json["pairs"].size() == 1);
    CHECK(json["pairs"][0]["verdict"] == "CANNOT_TELL");  // of two blocks
}

TEST_CASE("an arm against itself computes the same bits; another precision drifts within its rounding") {
    const TinyJob job;
    const auto json =
        compared(job, {"--arm", "a:", "--arm", "b:", "--arm", "half: precision.backend=torch/bf16"});
    CHECK(json["arms"][1]["drift"]["output"] == 0.0);
    CHECK(json["arms"][1]["drift"]["gradient"] == 0.0);
    CHECK(json["arms"][0]["losses"] == json["arms"][1]["losses"]);
    CHECK(json["arms"][2]["dtype"] == "bfloat16");
    CHECK(json["arms"][2]["drift"]["output"].get<double>() > 1e-4);
    CHECK(json["pairs"][1]["verdict"] != "WRONG");
}

TEST_CASE("that the fewest blocks take longer than --time is told before they run") {
    const TinyJob job;
    const Words words{"compare", job.file("job.toml"), "--vary", "attention.backend=naive,torch"};
    // Nine blocks of two arms, each of 0.1 s at least.
    const auto longer = run(with(words, {"--time", "0.1"}));
    INFO(longer.err);
    CHECK_THAT(longer.err, contains("note: 9 blocks are the fewest to judge by, and take about "));
    CHECK_THAT(longer.err, contains(" s with the warm-up, not the 0.10 s of --time; "));
    const auto asked = run(with(words, {"--time", "0.1", "--blocks", "1", "--steps-per-block", "1"}));
    INFO(asked.err);
    CHECK_THAT(asked.err, !contains("are the fewest to judge by"));
}

TEST_CASE("one word changes precision: speed, memory, drift, skipped steps and stability of each") {
    const TinyJob job;
    const Words words{"--vary",
                      "precision.backend=amp/fp32,amp/bf16,amp/bf16_pure,amp/fp16",
                      "--blocks",
                      "2",
                      "--steps-per-block",
                      "12",
                      "--time",
                      "0.5"};
    const auto json = run_json(compare_words(job, words));
    const JsonSchema schema(source_dir() / "docs/schema/compare.json");
    CHECK(schema.faults(json) == Words{});
    CHECK(json["arms"].size() == 4);
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"]);
        CHECK(arm["status"] == "ok");
        CHECK(arm["stability"]["stable"].is_boolean());
        CHECK(arm["peak_memory_bytes"].get<std::int64_t>() > 0);
        CHECK(arm["skipped_steps"].get<int>() <= 16);
    }
    CHECK(json["arms"][0]["stability"]["loss_drift"].is_null());
    CHECK(json["arms"][2]["stability"]["loss_drift"].is_number());
    CHECK(json["arms"][3]["dtype"] == "float16");
}

TEST_CASE("each arm tells what a step's memory is for, where its peak is and over its time") {
    const TinyJob job;
    const auto json =
        compared(job, {"--html", job.file("compare.html"), "--arm", "plain: precision.backend=amp/fp32",
                       "--arm", "again: precision.backend=amp/fp32", "--arm",
                       "half: precision.backend=amp/bf16_pure", "--arm", "two: ranks=2 batch.size=2"});
    const auto parts = [&](std::size_t arm) {
        return json["arms"][arm]["observed"]["memory"]["parts_at_peak"];
    };
    for (std::size_t arm = 0; arm < 3; ++arm) {
        INFO(json["arms"][arm]["name"]);
        const auto& memory = json["arms"][arm]["observed"]["memory"];
        std::int64_t sum = 0, highest = 0;
        const auto at_peak = parts(arm);
        for (const auto& [part, bytes] : at_peak.items()) sum += bytes.get<std::int64_t>();
        CHECK(memory["peak_bytes"] == sum);
        CHECK(memory["line"].size() <= 200);
        for (const auto& point : memory["line"])
            highest = std::max(highest, point["bytes"].get<std::int64_t>());
        CHECK(highest == sum);
        CHECK(parts(arm)["activations"].get<std::int64_t>() > 0);
        // Two moments of each parameter.
        const auto stepped = arm < 2 ? parts(arm)["parameters"] : parts(arm)["masters"];
        CHECK(parts(arm)["optimizer_state"].get<double>() ==
              Approx(2.0 * stepped.get<double>()).epsilon(0.01));
        CHECK(json["arms"][arm]["flops_per_second"].get<double>() > 0.0);
    }
    CHECK(parts(0)["parameters"].get<std::int64_t>() == 2 * parts(2)["parameters"].get<std::int64_t>());
    CHECK(parts(0)["parameters"] == parts(2)["masters"]);
    CHECK(parts(0)["masters"] == 0);
    CHECK(json["arms"][3]["observed"].is_null());  // each rank has a part of it
    CHECK(json["arms"][0]["losses"] == json["arms"][1]["losses"]);
    CHECK(json["roofs"]["products"][0]["flops_per_second"].get<double>() > 0.0);
}

TEST_CASE("tables for other programs have the report's numbers, and reach a pipe too") {
    const TinyJob job;
    const Words two{"--arm", "=1+1:", "--arm", "b, \"c\":"};
    const auto json =
        compared(job, with(two, {"--csv", job.file("arms.csv"), "--jsonl", job.file("blocks.jsonl")}));
    const auto rows = by_heads(csv_records(bytes_of(job.file("arms.csv"))));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].at("arm") == "'=1+1");
    CHECK(rows[1].at("arm") == "b, \"c\"");
    for (std::size_t arm = 0; arm < 2; ++arm)
        CHECK(nlohmann::json::parse(rows[arm].at("samples_per_second")) ==
              json["arms"][arm]["samples_per_second"]);
    std::istringstream lines(bytes_of(job.file("blocks.jsonl")));
    const JsonSchema schema(source_dir() / "docs/schema/compare_block.json");
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        for (const auto& fault : schema.faults(nlohmann::json::parse(line))) FAIL_CHECK(fault);
    CHECK(count == json["arms"][0]["blocks"].size() + json["arms"][1]["blocks"].size());
    const auto piped = compared_text(job, with(two, {"--jsonl", "-"}));
    CHECK(piped.code == 0);
    CHECK(nlohmann::json::parse(piped.out.substr(0, piped.out.find('\n')))["arm"] == "=1+1");
    const auto both = compared_text(job, with(two, {"--jsonl", "-", "--json", "-"}));
    CHECK(both.code == 2);
    CHECK_THAT(both.err, contains("--json - and --jsonl -: the standard output takes one of them"));
    CHECK(compared_text(job, with(two, {"--csv", job.file("no/folder.csv")})).code == 2);
}

TEST_CASE("arms of the configuration, which is named from elsewhere") {
    const TinyJob job;
    const std::string path = job.file("job.toml");
    job.write("job.toml", bytes_of(path) +
                              "\n[[arm]]\nname = \"a\"\n\n[[arm]]\nname = \"b\"\nset = "
                              "[\"attention.backend=naive\"]\n");
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    Words words{"compare", (folder.filename() / "job.toml").string()};
    for (const auto& word : short_run({})) words.push_back(word);
    RunOptions options;
    options.in_child = [&] { std::filesystem::current_path(folder.parent_path()); };
    const auto outcome = run(words, options);
    INFO(outcome.err);
    INFO(outcome.out);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, !contains("failed"));
}

TEST_CASE("random samples where the job has no data") {
    const TinyJob job;
    auto text = bytes_of(job.file("job.toml"));
    const auto data = text.find("[data]"), train = text.find("[train]");
    job.write("job.toml", text.erase(data, train - data));
    const auto json = compared(job, {"--vary", "normalization.backend=naive,torch", "--lengths", "8-16"});
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK_THAT(json["title"].get<std::string>(), contains("12 samples a step, random tokens, 8-16 a sample"));
}

TEST_CASE("final losses of several seeds are tested for equivalence") {
    const TinyJob job;
    const auto json =
        compared(job, {"--vary", "attention.backend=naive,torch", "--set", "model.dropout=0", "--set",
                       "model.attention_dropout=0", "--seeds", "3", "--loss-equivalence", "0.02"});
    const auto& loss = json["pairs"][0]["loss"];
    CHECK(loss["verdict"] == "EQUIVALENT");
    CHECK(loss["seeds"] == 3);
    CHECK(json["loss_steps"] == 8);
    const auto& arm = json["arms"][1];
    CHECK(arm["final_losses"].size() == 3);
    CHECK(arm["seed_losses"][0].size() == 8);
    CHECK(arm["final_losses"][0] != arm["final_losses"][1]);  // other seeds, other runs
}

TEST_CASE("the text is for people, the page stands alone, the fastest arm can be taken up") {
    const TinyJob job;
    const auto page = job.file("compare.html"), fastest = job.file("fastest");
    const auto json = job.file("compare.json");
    const auto outcome = compared_text(job, {"--vary", "attention.backend=naive,torch", "--html", page,
                                             "--fastest", fastest, "--json", json});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(
        outcome.out,
        contains(
            "attention=naive and attention=torch: bert, 2 layers, hidden 32; 12 samples a step, the job's"));
    CHECK_THAT(outcome.out,
               contains("attention=torch: CANNOT TELL whether it is faster than attention=naive"));
    const auto html = bytes_of(page);
    CHECK(html.size() < 500'000);
    CHECK_THAT(html, contains("<!DOCTYPE html>"));
    CHECK_THAT(html, contains("Speed over attention=naive"));
    CHECK(html.find("http") == std::string::npos);
    const auto stacks = switchyard::report::read_stack_times(json);
    REQUIRE(stacks.rows.size() == 2);
    CHECK((stacks.whole_runs && stacks.base == "attention=naive" && stacks.rows[1].speedup.has_value()));
    CHECK_THAT(bytes_of(fastest), contains("attention.backend="));
}

TEST_CASE(
    "arms choose by the times that auto was timed with once for all of them, also where none are kept") {
    const TinyJob job;
    const auto cache = cache_without_measurements();
    std::ofstream(std::filesystem::path(cache) / "measured") << "in the way";
    // By priority attention is chunked's, whose chunks of one query take a hundred calls where naive takes
    // one.
    job.write("job.toml", R"(
[runtime]
threads = 1
keep_times = "always"
[plugins]
disabled = ["flash", "torch"]
[model]
type = "gpt"
layers = 1
hidden_size = 32
heads = 4
vocab_size = 64
max_positions = 128
[task]
kind = "causal_lm"
[batch]
size = 2
max_length = 128
[train]
steps = 4
[attention]
options.chunked.chunk_size = 1
[linear]
backend = "naive"
[normalization]
backend = "naive"
[activation]
backend = "naive"
[loss]
backend = "naive"
[optimizer]
backend = "naive"
)");
    const auto record = job.file("compare.json");
    const auto outcome = run(compare_words(job, short_run({"--arm", "a:", "--arm", "b: optimizer.lr=1e-4",
                                                           "--lengths", "8", "--json", record})),
                             {{{"SWITCHYARD_CACHE", cache}}});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    const std::string timed = "auto: timed the candidates for 2 kinds of request";
    const auto first = outcome.err.find(timed);
    CHECK(first != std::string::npos);
    CHECK(outcome.err.find("auto: timed", first + 1) == std::string::npos);
    CHECK_THAT(outcome.err, contains("could not be saved"));
    const auto json = json_of(record);
    REQUIRE(json["arms"].size() == 2);
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"]);
        CHECK(arm["status"] == "ok");
        CHECK(arm["executed"]["attention"][0]["plugin"] == "naive");
    }
}
