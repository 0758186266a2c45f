// `switchyard compare --operation generate`: passes that write new tokens after the same prompts.
// To add a case: arms, and what they must have written, computed and told.
#include <algorithm>
#include <set>

#include "compared.h"

using namespace switchyard::test;

namespace {

constexpr const char* writer = R"(
[run]
seed = 3
[runtime]
threads = 1
[model]
type = "gpt"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32
dropout = 0.0
attention_dropout = 0.0
activation = "relu"
[task]
kind = "causal_lm"
[batch]
size = 3
max_length = 16
)";

// A job that has no data.
class WritingJob {
public:
    WritingJob() { write(""); }
    // `more`: tables of its configuration.
    void write(const std::string& more) const {
        job_.write("job.toml", writer + torch_slots("1e-3") + "\n[plugins]\npaths = [\"" +
                                   (build_dir() / "tests/support/plugins/errs").string() + "\"]\n" + more);
    }
    const TinyJob& job() const { return job_; }

private:
    TinyJob job_;
};

Words writing(const Words& more) { return with({"--operation", "generate", "--tokens", "5"}, more); }

void check_all_ran(const nlohmann::json& json, int prompts) {
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"] << ": " << arm["reason"]);
        CHECK(arm["status"] == "ok");
        CHECK(arm["stability"]["stable"].is_null());
        for (const auto& block : arm["blocks"]) {
            CHECK(block["samples"] == prompts * json["steps_per_block"].get<int>());
            CHECK(block["tokens"] == 5 * prompts * json["steps_per_block"].get<int>());
        }
    }
}

void check_equal(const nlohmann::json& json) {
    for (std::size_t at = 1; at < json["arms"].size(); ++at) {
        const auto& arm = json["arms"][at];
        INFO(arm["name"]);
        CHECK(arm["same_tokens"] == 1.0);
        CHECK(arm["drift"]["loss"].is_null());
        CHECK(arm["drift"]["output"].get<double>() < arm["drift_allowed"]["output"].get<double>());
        CHECK(json["pairs"][at - 1]["verdict"] != "WRONG");
    }
}

std::set<std::string> phases_of(const nlohmann::json& rows) {
    std::set<std::string> phases;
    for (const auto& row : rows) phases.insert(row["phase"].get<std::string>());
    return phases;
}

}  // namespace

TEST_CASE("two backends write the same tokens, and what served prefill and decode is told") {
    const WritingJob writing_job;
    const auto json =
        compared(writing_job.job(), writing({"--samples", "7", "--vary", "attention.backend=naive,torch",
                                             "--fail-on", "drift,memory:900%"}));
    CHECK(json["operation"] == "generate");
    CHECK(json["new_tokens"] == 5);
    CHECK_THAT(json["title"].get<std::string>(),
               contains("generation, 5 tokens after each of 7 prompts a pass, random tokens, 11 a prompt"));
    check_all_ran(json, 7);
    check_equal(json);
    CHECK(json["gate"][0]["outcome"] == "fine");
    for (const auto& arm : json["arms"]) {
        CHECK(phases_of(arm["executed"]["attention"]) == std::set<std::string>{"prefill", "decode"});
        // Two layers, three batches; four tokens after the first.
        std::int64_t prefills = 0, decodes = 0;
        for (const auto& row : arm["executed"]["attention"])
            (row["phase"] == "decode" ? decodes : prefills) += row["calls"].get<std::int64_t>();
        CHECK(decodes == 4 * prefills);
        CHECK(prefills % (2 * 3) == 0);
    }
}

TEST_CASE("prompts are read in batches of each arm's own") {
    const WritingJob writing_job;
    const auto json =
        compared(writing_job.job(), writing({"--samples", "7", "--lengths", "2-9", "--arm", "three:", "--arm",
                                             "one: batch.size=1", "--arm", "all: batch.size=7"}));
    CHECK_THAT(json["title"].get<std::string>(), contains("random tokens, 2-9 a prompt"));
    check_all_ran(json, 7);
    check_equal(json);
}

TEST_CASE("prompts are the job's own where it has data, again where it has too few") {
    const WritingJob writing_job;
    writing_job.write("[data]\ntrain = [\"rows.tsv\"]\neval_fraction = 0.2\nvocabulary = \"vocab.txt\"\n");
    const auto json =
        compared(writing_job.job(), writing({"--samples", "70", "--vary", "normalization.backend=naive,torch",
                                             "--set", "batch.size=35"}));
    CHECK_THAT(json["title"].get<std::string>(),
               contains("70 prompts a pass, the job's own data, at most 11 tokens a prompt"));
    check_all_ran(json, 70);
    check_equal(json);
    check_refused(run(compare_words(writing_job.job(), writing({"--lengths", "4", "--arm", "a:"}))),
                  {"--lengths is for random samples"});
    writing_job.write("[data]\ntrain = [\"none.tsv\"]\neval_fraction = 0.2\nvocabulary = \"vocab.txt\"\n");
    check_refused(run(compare_words(writing_job.job(), writing({"--arm", "a:"}))), {"none.tsv"});
}

TEST_CASE("an answering model writes after its prompts, too") {
    const TinyJob job;
    auto text = std::string(writer);
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"\"gpt\"", "\"t5\""}, {"\"causal_lm\"", "\"seq2seq\""}})
        text.replace(text.find(from), from.size(), to);
    job.write("job.toml", text + torch_slots("1e-3"));
    const auto json =
        compared(job, writing({"--vary", "attention.backend=naive,torch", "--set", "model.head_dim=8"}));
    CHECK_THAT(json["title"].get<std::string>(), contains("each of 3 prompts a pass, random tokens, 16 a"));
    check_all_ran(json, 3);
    check_equal(json);
}

TEST_CASE("caches of fewer bits: 16 are held to their rounding, of 8 nothing is bounded") {
    const WritingJob writing_job;
    const auto json = compared(writing_job.job(),
                               writing({"--vary", "cache.dtype=float32,bfloat16,int8", "--set",
                                        "attention.backend=naive", "--fail-on", "drift"}),
                               4);
    check_all_ran(json, 3);
    const auto& half = json["arms"][1];
    CHECK(half["drift"]["output"].get<double>() > 1e-5);
    CHECK(half["drift"]["output"].get<double>() < half["drift_allowed"]["output"].get<double>());
    CHECK(json["gate"][0]["outcome"] == "fine");
    const auto& whole = json["arms"][2];
    CHECK(whole["drift"]["output"].get<double>() > 1e-5);
    CHECK(whole["drift_allowed"]["output"].is_null());
    CHECK(json["gate"][1]["outcome"] == "CANNOT_TELL");
    CHECK_THAT(json["gate"][1]["text"].get<std::string>(), contains("of reduced accuracy"));
}

TEST_CASE("a component that decodes wrongly is WRONG, though it reads prompts rightly") {
    const WritingJob writing_job;
    const Words arms{"--arm", "right:", "--arm", "wrong: activation.backend=test_errs/tires"};
    const auto json = compared(writing_job.job(), writing(arms), 5);
    CHECK(json["arms"][1]["status"] == "ok");
    CHECK(json["pairs"][0]["verdict"] == "WRONG");
    CHECK_THAT(json["pairs"][0]["reason"].get<std::string>(), contains("its outputs are "));
    const auto gated =
        compared(writing_job.job(), writing(with(arms, {"--fail-on", "slower:900%,drift"})), 5);
    CHECK(gated["gate"][0]["outcome"] == "NUMERICS");
    // The first token is the prompt's.
    const auto first = compared(writing_job.job(), with({"--operation", "generate", "--tokens", "1"}, arms));
    CHECK(first["pairs"][0]["verdict"] != "WRONG");
    CHECK(first["arms"][1]["same_tokens"] == 1.0);
}

TEST_CASE("weights of whole numbers are no wrong numbers") {
    const WritingJob writing_job;
    const auto json = compared(writing_job.job(),
                               writing({"--vary", "linear.backend=naive,int8/weight_int8,int8/dynamic"}));
    check_all_ran(json, 3);
    for (const int at : {1, 2}) {
        CHECK(json["arms"][at]["drift"]["output"].get<double>() > 1e-4);
        CHECK(json["arms"][at]["drift_allowed"]["output"].is_null());
        CHECK(json["pairs"][at - 1]["verdict"] != "WRONG");
    }
}

TEST_CASE("the text and the page of a generation") {
    const WritingJob writing_job;
    const auto page = writing_job.job().file("page.html");
    const auto outcome = compared_text(writing_job.job(),
                                       writing({"--vary", "attention.backend=naive,torch", "--html", page}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out,
               contains("ms a pass [95 %]") && contains("new tokens/s") && contains("prompts/s"));
    CHECK_THAT(outcome.out, contains("prefill, ms [95 %]") && contains("same tokens"));
    CHECK_THAT(outcome.out, contains("first tokens, from the base"));
    CHECK_THAT(outcome.out,
               contains("attention=naive: ") && contains("prefill: attention naive") && contains("decode:"));
    CHECK_THAT(bytes_of(page), contains("<h2>Prefill and decode</h2>") && contains("First tokens") &&
                                   contains("wrote as many tokens after the same prompts"));
    const auto plan = run(
        compare_words(writing_job.job(), writing({"--vary", "attention.backend=naive,torch", "--dry-run"})));
    CHECK(plan.code == 0);
    CHECK_THAT(plan.out, contains("prefill:") && contains(" decode:") && contains("naive/naive"));
    CHECK_THAT(plan.out, contains("its first samples"));
}

TEST_CASE("generation as a ladder, and beside what was measured before") {
    const WritingJob writing_job;
    const auto& job = writing_job.job();
    job.write("ladder.toml",
              "title = \"Tiny\"\nconfig = \"job.toml\"\noperation = \"generate\"\n[[rung]]\nname = \"base\"\n"
              "[[rung]]\nname = \"two at once\"\non = \"base\"\nset = { batch.size = 2 }\n");
    const auto ladder =
        run_json(with({"compare", "--ladder", job.file("ladder.toml")}, short_run({"--tokens", "5"})));
    CHECK(ladder["ladder"]["rungs"][1]["status"] == "ok");
    check_all_ran(ladder, 3);
    check_equal(ladder);
    const auto words = writing({"--arm", "now:"});
    job.write("before.json", run_json(compare_words(job, short_run(words))).dump());
    const auto json = compared(job, with(words, {"--baseline", job.file("before.json")}));
    CHECK(json["arms"][0]["measured_before"] == job.file("before.json"));
    check_refused(run(compare_words(
                      job, with({"--operation", "generate", "--tokens", "4", "--arm", "now:", "--baseline"},
                                {job.file("before.json")}))),
                  {"before.json: is of gpt"});
}

TEST_CASE("a program is given the prompts, and must say what it wrote") {
    const WritingJob writing_job;
    const auto& job = writing_job.job();
    const auto told = job.file("told.json");
    const auto peer = [&](const std::string& prompt_tokens) {
        writing_job.write("");
        add_peer(job, "peer",
                 "read -r line; printf '%s\\n' \"$line\" >" + told + R"(
echo '{"type": "report", "loss": null, "operation": "generate"}'
while read -r line; do
    case $line in
        *'"run"'*) n=${line##*:}; n=${n%\}}; s=9e-6; p=3e-6; t='[2e-6,2e-6]'; i=1
            while [ $i -lt $n ]; do s="$s,9e-6"; p="$p,3e-6"; t="$t,[2e-6,2e-6]"; i=$((i+1)); done
            echo "{\"type\": \"report\", \"step_ms\": [$s], \"prefill_ms\": [$p], \"token_ms\": [$t], \"generated\": [[1,2,3],[4,5,6]], \"prompt_tokens\": )" +
                     prompt_tokens + R"(}" ;;
        *) exit 0 ;;
    esac
done
)");
    };
    const Words words{"--operation", "generate", "--tokens", "3", "--samples", "2", "--lengths", "6"};
    peer("12");
    const auto json = compared(job, words);
    CHECK(json["arms"][1]["status"] == "ok");
    CHECK(json["arms"][1]["same_tokens"].is_number());
    const auto message = json_of(told);
    CHECK(message["operation"] == "generate");
    CHECK(message["workloads"] == nlohmann::json::array({{{"batch", 2}, {"lengths", "6"}, {"tokens", 3}}}));
    CHECK(message["batches"].is_string());
    peer("11");
    const auto wrong = compared(job, words, 1);
    CHECK(wrong["arms"][1]["status"] == "protocol_error");
    CHECK_THAT(wrong["arms"][1]["reason"].get<std::string>(),
               contains("it reports 11 tokens of the prompts; they have 12"));
}

TEST_CASE("what generates nothing, or has no room for it, is refused before anything runs") {
    const WritingJob writing_job;
    const TinyJob encoder;
    const auto refused = [](const TinyJob& job, const Words& more, const Words& parts) {
        check_refused(run(compare_words(job, with(more, {"--vary", "attention.backend=naive,torch"}))),
                      parts);
    };
    const auto& job = writing_job.job();
    refused(encoder, {"--operation", "generate"},
            {"a model of classification generates nothing", "task.kind = \"causal_lm\" or \"seq2seq\""});
    refused(job, {"--tokens", "4"}, {"--tokens says how many --operation generate writes"});
    refused(job, {"--operation", "generate", "--tokens", "16"},
            {"--tokens 16", "batch.max_length = 16 tokens"});
    refused(job, {"--operation", "generate", "--tokens", "6", "--lengths", "4-11"},
            {"--lengths: '4-11': with 6 new tokens a prompt has at most 10"});
    refused(job, {"--operation", "generate", "--seeds", "2"}, {"--seeds trains to the end"});
    refused(job, {"--operation", "generate", "--set", "batch.size=0"}, {"batch.size"});
}
