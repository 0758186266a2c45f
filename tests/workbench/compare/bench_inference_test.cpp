// `switchyard bench inference` as a user runs it, on models that take no time: what is held is what they
// computed and what was counted, never how long it took.
// To add a case: a model or a run, options, and what the JSON must say.
#include "compared.h"

using namespace switchyard::test;

namespace {

// Drawn at random: no data, no weights.
constexpr const char* gpt = R"(
[run]
seed = 3
[model]
type = "gpt"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 50
max_positions = 32
dropout = 0.0
attention_dropout = 0.0
[task]
kind = "causal_lm"
)";

// Its numbers: embeddings, two layers of attention, feed-forward and their norms, the last norm. The
// head is the table of words.
constexpr std::int64_t gpt_parameters =
    50 * 32 + 32 * 32 + 2 * (4 * (32 * 32 + 32) + 2 * 32 * 64 + 64 + 32 + 4 * 32) + 2 * 32;

Words bench_words(const std::string& what, const Words& more) {
    Words words{"bench", "inference", what, "--blocks", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

nlohmann::json benched(const std::string& what, const Words& more, int code = 0) {
    const auto json = run_json(bench_words(what, more), code);
    const JsonSchema schema(source_dir() / "docs/schema/bench_inference.json");
    for (const auto& fault : schema.faults(json)) FAIL_CHECK(fault);
    return json;
}

// Which plugin was called in which phase, of one slot's "executed".
std::map<std::string, std::string> served(const nlohmann::json& calls) {
    std::map<std::string, std::string> plugins;
    for (const auto& call : calls) {
        CHECK(call["calls"].get<std::int64_t>() > 0);
        plugins[call["phase"].get<std::string>()] += call["plugin"].get<std::string>();
    }
    return plugins;
}

Outcome refused(const std::string& what, const Words& more) {
    const auto outcome = run(bench_words(what, more));
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    return outcome;
}

class Models {
public:
    Models() { job_.write("gpt.toml", gpt + torch_slots("1e-3")); }
    std::string gpt_config() const { return job_.file("gpt.toml"); }
    std::string bert_config() const { return job_.file("job.toml"); }
    const TinyJob& job() const { return job_; }

private:
    TinyJob job_;
};

}  // namespace

TEST_CASE("a language model generates: two backends write the same tokens, every workload is timed") {
    const Models models;
    const auto json = benched(models.gpt_config(), {"--batch", "1,3", "--length", "5,2-9", "--tokens", "4",
                                                    "--vary", "attention.backend=torch,naive"});
    CHECK(json["operation"] == "generate");
    REQUIRE(json["workloads"].size() == 4);
    CHECK(json["workloads"][3]["lengths"] == "2-9");
    std::vector<std::string> backends;
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"] << ": " << arm["reason"]);
        CHECK(arm["status"] == "ok");
        const auto& executed = arm["results"][0]["executed"];
        const auto attention = served(executed["attention"]);
        CHECK(attention.size() == 2);
        CHECK(attention.at("prefill") == attention.at("decode"));
        backends.push_back(attention.at("decode"));
        CHECK(served(executed["normalization"]) ==
              std::map<std::string, std::string>{{"prefill", "torch"}, {"decode", "torch"}});
        CHECK(arm["weight_bytes"].get<std::int64_t>() >= 4 * gpt_parameters);
        CHECK(arm["weight_bytes"].get<std::int64_t>() < 4 * gpt_parameters + 10'000);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto& result = arm["results"][i];
            const auto rows = json["workloads"][i]["batch"].get<int>();
            const auto further = 2 * 3 * json["workloads"][i]["passes_per_block"].get<int>();
            if (result["timed_by"] == "arm")
                CHECK(result["token_ms"]["count"] == further);
            else  // a busy machine kept it from its turns, so that its times of tokens say too little
                CHECK(result["token_ms"].is_null());
            CHECK(result["prompt_tokens"].get<int>() >= 2 * rows);
            CHECK(result["prompt_tokens"] == json["arms"][0]["results"][i]["prompt_tokens"]);
            // All but the rows of the tables that are only looked up.
            CHECK(result["weight_bytes_read"] == 4 * (gpt_parameters - 32 * 32));
            // Keys and values of two layers, 32 wide, for each row as long as it may become.
            CHECK(result["cache_bytes"].get<std::int64_t>() >= rows * 2 * 2 * 32 * 4 * (i < 2 ? 8 : 5));
        }
    }
    CHECK(backends == std::vector<std::string>{"torch", "naive"});
    CHECK(json["arms"][0]["results"][0]["prompt_tokens"] == 5);
    CHECK(json["arms"][1]["drift"].get<double>() < json["arms"][1]["drift_allowed"].get<double>());
    CHECK(json["arms"][1]["results"][3]["same_tokens"] == 1.0);
    CHECK(json["pairs"].size() == 4);
    CHECK(json["peaks"]["read_gbytes_per_second"].get<double>() > 0.0);
}

TEST_CASE("a GGUF file is timed as it is") {
    const auto file = (source_dir() / "tests/fixtures/gguf/llama.gguf").string();
    Words workload{"--batch", "2", "--length", "6", "--tokens", "4"};
    for (const char* slot : {"attention", "linear", "normalization", "activation"})
        workload.insert(workload.end(), {"--set", std::string(slot) + ".backend=naive"});
    const auto json = benched(file, workload);
    CHECK(json["operation"] == "generate");
    CHECK(json["config"] == file);
    REQUIRE(json["arms"].size() == 1);
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["arms"][0]["results"][0]["prompt_tokens"] == 12);
    // Its 12,216 numbers but the table of 60 words, which is looked up.
    CHECK(json["arms"][0]["results"][0]["weight_bytes_read"] == 4 * (12'216 - 60 * 24));
    const auto shown = run(bench_words(file, workload));
    INFO(shown.err);
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, contains("2 x 6 + 4") && contains("token ms [95 %]") &&
                              contains("\nwhat ran\n  as configured: ") && contains("attention naive"));
}

TEST_CASE("weights in 16 bits take half the bytes, and compute the same within their rounding") {
    const Models models;
    const auto json =
        benched(models.gpt_config(), {"--batch", "2", "--length", "6", "--tokens", "3", "--vary",
                                      "precision.backend=amp/fp32,amp/bf16_pure,amp/fp16_pure", "--set",
                                      "attention.backend=naive", "--set", "linear.backend=naive", "--set",
                                      "normalization.backend=naive", "--set", "activation.backend=naive"});
    const auto whole = json["arms"][0]["weight_bytes"].get<double>();
    for (const int arm : {1, 2}) {
        INFO(json["arms"][arm]["name"] << ": " << json["arms"][arm]["reason"]);
        CHECK(json["arms"][arm]["status"] == "ok");
        CHECK(json["arms"][arm]["weight_bytes"].get<double>() < 0.55 * whole);
        CHECK(json["arms"][arm]["results"][0]["weight_bytes_read"].get<double>() ==
              json["arms"][0]["results"][0]["weight_bytes_read"].get<double>() / 2.0);
        const auto drift = json["arms"][arm]["drift"].get<double>();
        CHECK(drift > 1e-5);
        CHECK(drift < json["arms"][arm]["drift_allowed"].get<double>());
    }
}

TEST_CASE("where whole numbers replace the weights of a drawn model, its floats are let go") {
    const Models models;
    constexpr double floats = 2 * (4 * 32 * 32 + 2 * 32 * 64) * 4.0;  // of linear layers but the tied head
    for (const char* order :
         {"linear.backend=naive,int8/weight_int8", "linear.backend=int8/weight_int8,naive"}) {
        const auto json =
            benched(models.gpt_config(), {"--batch", "1", "--length", "6", "--tokens", "3", "--vary", order});
        std::map<bool, double> bytes;
        for (const auto& arm : json["arms"]) {
            INFO(arm["name"] << ": " << arm["reason"]);
            CHECK(arm["status"] == "ok");
            bytes[contains("int8").match(arm["name"].get<std::string>())] = arm["weight_bytes"].get<double>();
        }
        CHECK(bytes.at(true) < bytes.at(false) - 0.5 * floats);
    }
}

TEST_CASE("float16 alone is no way to train") {
    const Models models;
    const auto outcome = run({"plan", models.bert_config(), "--set", "precision.backend=amp/fp16_pure"});
    CHECK(outcome.code != 0);
    CHECK_THAT(outcome.out + outcome.err,
               contains("no training") && contains("train with fp16 or bf16_pure"));
}

TEST_CASE("an encoder passes forward, padded and packed, with the same outputs") {
    const Models models;
    const auto trained = models.job().trained("run", {"train.steps=1"});
    REQUIRE(trained.code == 0);
    const auto json = benched(models.job().file("run"),
                              {"--batch", "4", "--length", "3-16", "--vary", "batch.layout=padded,packed"});
    CHECK(json["operation"] == "forward");
    CHECK(json["arms"][1]["drift"].get<double>() < json["arms"][1]["drift_allowed"].get<double>());
    CHECK(json["arms"][0]["results"][0]["token_ms"].is_null());
    CHECK(json["arms"][0]["results"][0]["pass_ms"]["count"] ==
          2 * json["workloads"][0]["passes_per_block"].get<int>());
    CHECK(json["arms"][1]["results"][0]["prompt_tokens"] == json["arms"][0]["results"][0]["prompt_tokens"]);
}

TEST_CASE("with a cache and without: the same tokens, and the table of what it saves") {
    const Models models;
    const auto json = benched(models.gpt_config(), {"--cache-table", "--length", "4", "--tokens", "5,20"});
    REQUIRE(json["arms"].size() == 2);
    CHECK(json["arms"][1]["name"] == "as configured, no cache");
    CHECK(json["arms"][1]["cached"] == false);
    for (int i : {0, 1}) CHECK(json["arms"][1]["results"][i]["same_tokens"] == 1.0);
    REQUIRE(json["cache"].size() == 2);
    CHECK(json["cache"][0]["tokens_uncached"] == 4 + 5 + 6 + 7 + 8);
    CHECK(json["cache"][0]["tokens_cached"] == 8);
}

TEST_CASE("a program stands among the arms: what it is told, and what it must answer") {
    const Models models;
    const auto told = models.job().file("told.json");
    models.job().write("peer.sh", "read -r line; printf '%s\\n' \"$line\" >" + told + R"(
echo '{"type": "report", "loss": null, "operation": "generate", "weight_bytes": 7}'
while read -r line; do
    case $line in
        *'"run"'*) n=${line##*:}; n=${n%\}}; s=9e-6; p=3e-6; t='[2e-6,2e-6]'; i=1
            while [ $i -lt $n ]; do s="$s,9e-6"; p="$p,3e-6"; t="$t,[2e-6,2e-6]"; i=$((i+1)); done; sleep 0.02
            echo "{\"type\": \"report\", \"step_ms\": [$s], \"prefill_ms\": [$p], \"token_ms\": [$t], \"generated\": [[1,2,<token>],[3,4,5]]}" ;;
        *) exit 0 ;;
    esac
done
)");
    const Words words{"--batch",  "2", "--length", "6",
                      "--tokens", "3", "--arm",    "peer: sh " + models.job().file("peer.sh")};
    auto script = bytes_of(models.job().file("peer.sh"));
    const std::string placeholder = "<token>";  // which no name of a folder has
    const auto at = script.find(placeholder);
    models.job().write("peer.sh", script.replace(at, placeholder.size(), "49"));
    auto json = benched(models.gpt_config(), words);
    CHECK(json["arms"][0]["name"] == "as configured");
    CHECK(json["arms"][1]["status"] == "ok");
    CHECK(json["arms"][1]["weight_bytes"] == 7);
    CHECK(json["arms"][1]["results"][0]["timed_by"] == "coordinator");
    const auto message = json_of(told);
    CHECK(message["operation"] == "generate");
    CHECK(message["workloads"][0] == nlohmann::json({{"batch", 2}, {"lengths", "6"}, {"tokens", 3}}));
    CHECK(message["task"]["kind"] == "causal_lm");
    models.job().write("peer.sh", script.replace(at, 2, "50"));
    json = benched(models.gpt_config(), words, 1);
    CHECK(json["arms"][1]["status"] == "protocol_error");
    CHECK_THAT(json["arms"][1]["reason"].get<std::string>(),
               contains("\"generated\" has a value that is no token; expected 0 to 49"));
}

TEST_CASE("what cannot be timed is refused before anything runs") {
    const Models models;
    CHECK_THAT(refused(models.gpt_config(), {"--length", "30", "--tokens", "8"}).err,
               contains("--length 30 --tokens 8: 38 tokens are more than the model's 32 positions"));
    CHECK_THAT(refused(models.bert_config(), {"--tokens", "8", "--length", "8"}).err,
               contains("--tokens: a model of classification generates nothing"));
    CHECK_THAT(refused(models.gpt_config(), {"--tokens", "0,8", "--length", "8"}).err,
               contains("0 asks for forward passes and the others for generation"));
    CHECK_THAT(refused(models.gpt_config(), {"--length", "9-4"}).err, contains("--length: '9-4'"));
    CHECK_THAT(
        refused(models.gpt_config(), {"--length", "8", "--tokens", "2", "--arm", "x: ./not-there"}).err,
        contains("arm \"x\"") && contains("not-there"));
    CHECK_THAT(
        refused(models.gpt_config(), {"--length", "8", "--tokens", "2", "--vary", "model.layers=2,1"}).err,
        contains("is not a fair comparison"));
    CHECK_THAT(refused(models.bert_config(), {"--length", "8", "--uncached"}).err,
               contains("--uncached is of generation"));
    CHECK(run({"bench", "inferences"}).code == 2);
    CHECK(run({"bench", "inference"}).code == 2);
}

TEST_CASE("a cache that does not fit is told with its size before any arm starts") {
    const Models models;
    const auto json = models.job().file("bench.json");
    // Positions without a table. A token has 32 numbers of 4 bytes, as key and as value, in two layers.
    const Words large{"--batch",  "1,50000",
                      "--length", "8",
                      "--tokens", "1000000",
                      "--set",    "model.positions=alibi",
                      "--set",    "model.max_positions=2000000",
                      "--json",   json};
    CHECK_THAT(refused(models.gpt_config(), large).err,
               contains("takes 25600205 MB for 50000 rows of 1000008 tokens"));
    // Each arm that it is true of is named.
    const auto varied = refused(models.gpt_config(), with(large, {"--vary", "cache.kind=contiguous,paged"}));
    CHECK_THAT(varied.err, contains("nothing was run: 2 of 2 arms cannot be compared"));
    CHECK_THAT(varied.err, contains("takes 25601638 MB for 50000 rows of 1000008 tokens"));
    CHECK_FALSE(fs::exists(json));
}

TEST_CASE("the text and the page of a bench of inference") {
    const Models models;
    const auto page = models.job().file("page.html");
    const auto outcome = run(bench_words(
        models.gpt_config(), {"--batch", "1,2", "--length", "6", "--tokens", "3", "--html", page}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("1 x 6 + 3") && contains("2 x 6 + 3") && contains("token ms [95 %]") &&
                                contains("The machine reads"));
    CHECK_THAT(bytes_of(page), contains("Throughput against latency") && contains("</html>"));
}
