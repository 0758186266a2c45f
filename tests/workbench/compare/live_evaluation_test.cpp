// What arms of the tiny job find on held-out samples: what `train` and `evaluate` find with the same weights.
// To add a case: a job, its arms, and who else knows the numbers.
#include <cmath>
#include <sstream>
#include <thread>

#include "compared.h"

using namespace switchyard::test;
using nlohmann::json;

namespace {

constexpr const char* held_out =
    "text\tlabel\nthe film is lovely\tgood\nthe plot is dull\tbad\nthis was a warm story\tgood\n"
    "but so cold\tbad\na bright ending\tgood\nthe cast is poor and false\tbad\nvery brave\tgood\n";

const Words two_seeds{"--seeds", "2", "--steps", "6"};

std::string list_of(const std::string& file) { return "[\"" + file + "\"]"; }

// What a run says after the same training as that of an arm with a seed, counted from 0.
json of_a_run(const TinyJob& job, int seed, const Words& sets = {}) {
    const auto name = "run-" + std::to_string(seed);
    job.trained(name, with({"run.seed=" + std::to_string(3 + seed), "train.steps=6"}, sets));
    return json_of(fs::path(job.run_folder(name)) / "summary.json")["eval"];
}

// It keeps the held-out samples that it is given with a seed, and finds what `evaluation` says; empty: it
// does not say that it can. 12 samples a step, and 4 in each fifth, with which the 52 samples of the job end.
std::string evaluating_peer(const std::string& evaluation) {
    const std::string ready = evaluation.empty() ? "" : "\"evaluates\": true, ";
    return R"(at=0
while read -r line; do
    case $line in
        *'"prepare"'*)
            at=0
            held=${line##*'"evaluation_batches":"'}
            if [ "$held" != "$line" ]; then cp "${held%%'"'*}" held.safetensors; fi
            echo '{"type": "report", )" +
           ready + R"("loss": 0.7}' ;;
        *'"evaluate"'*) echo '{"type": "report", )" +
           evaluation + R"(}' ;;
        *'"run"'*)
            n=${line##*:}; n=${n%\}}
            list=1e-6; losses=0.5; i=1
            while [ $i -lt $n ]; do list="$list,1e-6"; losses="$losses,0.5"; i=$((i+1)); done
            cycle=64
            if [ -e held.safetensors ]; then cycle=6; fi
            i=0; samples=0
            while [ $i -lt $n ]; do
                if [ $((at % cycle % 5)) -eq 4 ]; then more=4; else more=12; fi
                samples=$((samples+more))
                at=$((at+1)); i=$((i+1))
            done
            echo "{\"type\": \"report\", \"step_ms\": [$list], \"loss\": [$losses]," \
                "\"samples\": $samples, \"tokens\": $((5*samples))}" ;;
        *) exit 0 ;;
    esac
done
)";
}

void check_same(const json& evaluation, const json& scores) {
    INFO(evaluation << " " << scores);
    CHECK(evaluation["labels"] == scores["labels"]);
    CHECK(evaluation["evaluation_loss"].get<double>() == Approx(scores["loss"].get<double>()).epsilon(1e-6));
}

}  // namespace

TEST_CASE("an arm's accuracy after a seed is what train and evaluate find with the same weights") {
    const TinyJob job;
    const auto file = job.write("held.tsv", held_out);
    const auto set = "data.eval=" + list_of(file);
    const auto compare = compared(job, with({"--arm", "a:", "--arm", "b: attention.backend=naive", "--set",
                                             set, "--csv", job.file("arms.csv")},
                                            two_seeds));
    CHECK(compare["eval_samples"] == 1024);
    for (int seed = 0; seed < 2; ++seed) {
        const auto& evaluation = compare["arms"][0]["evaluations"][static_cast<std::size_t>(seed)];
        const auto trained = of_a_run(job, seed, {set});
        check_same(evaluation, trained);
        CHECK(evaluation["accuracy"] == trained["accuracy"]);
        const auto evaluated = run_json({"evaluate", job.run_folder("run-" + std::to_string(seed)), file});
        CHECK(evaluation["accuracy"] == evaluated["accuracy"]);
        CHECK(evaluation["samples"] == evaluated["samples"]);
        // Counted from the words of `predict`, one text after the other.
        Words predict{"predict", job.run_folder("run-" + std::to_string(seed))};
        Words labels;
        std::istringstream lines(held_out);
        std::string line;
        std::getline(lines, line);
        while (std::getline(lines, line)) {
            predict.push_back(line.substr(0, line.find('\t')));
            labels.push_back(line.substr(line.find('\t') + 1));
        }
        const auto predictions = run_json(predict)["predictions"];
        int correct = 0;
        for (std::size_t at = 0; at < labels.size(); ++at)
            correct += predictions[at]["label"] == labels[at] ? 1 : 0;
        CHECK(evaluation["correct"] == correct);
    }
    CHECK(compare["arms"][1]["evaluations"][0]["labels"] == 7);
    CHECK_THAT(bytes_of(job.file("arms.csv")), contains("accuracy") && contains("evaluation_loss"));
    // With the same bits accuracy speaks against nobody; nor does naive's attention, unless it errs.
    CHECK(compare["arms"][0]["stability"]["stable"] != false);
}

TEST_CASE("rows that are held out are evaluated, as many as were asked for and the same in all arms") {
    const TinyJob job;
    const Words arms{"--arm", "a:", "--arm", "b: attention.backend=naive", "--set", "data.eval_fraction=0.3"};
    const auto all = compared(job, with(arms, two_seeds));
    const auto trained = of_a_run(job, 0, {"data.eval_fraction=0.3"});
    check_same(all["arms"][0]["evaluations"][0], trained);
    REQUIRE(trained["labels"].get<int>() > 5);
    const auto few = compared(job, with(with(arms, two_seeds), {"--eval-samples", "5"}));
    CHECK(few["eval_samples"] == 5);
    for (const auto& arm : few["arms"]) {
        REQUIRE(arm["evaluations"].size() == 2);
        CHECK(arm["evaluations"][0]["samples"] == 5);
        CHECK(arm["evaluations"][1]["labels"] == 5);
        CHECK(arm["evaluations"][0]["evaluation_loss"].get<double>() ==
              Approx(few["arms"][0]["evaluations"][0]["evaluation_loss"].get<double>()).epsilon(1e-3));
    }
    CHECK(few["arms"][0]["seed_losses"] == all["arms"][0]["seed_losses"]);
    CHECK(few["arms"][0]["evaluations"][0]["evaluation_loss"] !=
          all["arms"][0]["evaluations"][0]["evaluation_loss"]);
}

TEST_CASE("with a moving average of the weights it is what is evaluated, as in training") {
    const TinyJob job;
    const auto compare =
        compared(job, with({"--arm", "plain:", "--arm", "average: train.ema=0.9"}, two_seeds));
    const auto trained = of_a_run(job, 0, {"train.ema=0.9"});
    check_same(compare["arms"][1]["evaluations"][0], trained);
    CHECK(compare["arms"][0]["evaluations"][0]["evaluation_loss"] !=
          compare["arms"][1]["evaluations"][0]["evaluation_loss"]);
}

TEST_CASE("a job without data, and one that holds nothing out, say why nothing is evaluated") {
    const TinyJob job;
    const Words arms = with({"--arm", "a:", "--arm", "b:"}, two_seeds);
    const auto nothing = compared(job, with(arms, {"--set", "data.eval_fraction=0"}));
    CHECK(nothing["arms"][0]["evaluations"] == json({nullptr, nullptr}));
    CHECK_THAT(nothing["arms"][1]["not_evaluated"].get<std::string>(), contains("data.eval_fraction is 0"));
    auto text = bytes_of(job.file("job.toml"));
    const auto data = text.find("[data]"), train = text.find("[train]");
    job.write("job.toml", text.erase(data, train - data));
    const auto random = compared(job, with(arms, {"--lengths", "8-16"}));
    CHECK_THAT(random["arms"][0]["not_evaluated"].get<std::string>(),
               contains("the job has no data, and random tokens have nothing to be learnt"));
    CHECK(random["arms"][0]["accuracy"].is_null());
    const auto told = compared_text(job, with(arms, {"--lengths", "8-16"}));
    CHECK(told.code == 0);
    CHECK_THAT(told.out, contains("not evaluated: a, b: the job has no data"));
}

TEST_CASE("a ladder of a language model has a column of perplexities, one of a classifier of accuracies") {
    const TinyJob job;
    job.write("ladder.toml",
              "title = \"Tiny\"\nconfig = \"job.toml\"\n[[rung]]\nname = \"base\"\n[[rung]]\nname = "
              "\"larger\"\non = \"base\"\nset = { batch.size = 8 }\n");
    const Words climb =
        with({"compare", "--ladder", job.file("ladder.toml"), "--html", job.file("page.html")},
             short_run(two_seeds));
    const JsonSchema schema(source_dir() / "docs/schema/compare.json");
    const auto classes = run_json(climb);
    CHECK(schema.faults(classes) == Words{});
    CHECK(classes["ladder"]["rungs"][1]["accuracy"] == classes["arms"][1]["accuracy"]);
    CHECK(classes["ladder"]["rungs"][1]["accuracy"].is_number());
    CHECK(classes["ladder"]["rungs"][1]["perplexity"].is_null());
    CHECK_THAT(bytes_of(job.file("page.html")), contains(">Accuracy<"));

    std::string text;
    for (const std::string thing : {"film", "story", "actor", "scene", "script", "music"})
        for (const std::string word : {"dull", "warm", "cold", "fresh", "flat", "lovely"})
            text += "the " + thing + " is " + word + " and the plot was " + word + "\n";
    job.write("text.txt", text);
    auto job_text = bytes_of(job.file("job.toml"));
    const auto replace = [&](const std::string& from, const std::string& to) {
        const auto at = job_text.find(from);
        REQUIRE(at != std::string::npos);
        job_text.replace(at, from.size(), to);
    };
    replace("kind = \"classification\"\nlabels = [\"bad\", \"good\"]", "kind = \"masked_lm\"");
    replace("\"rows.tsv\"", "\"text.txt\"");
    job.write("job.toml", job_text);
    const auto words = run_json(climb);
    CHECK(schema.faults(words) == Words{});
    const auto& rung = words["ladder"]["rungs"][1];
    CHECK(rung["accuracy"].is_null());
    REQUIRE(rung["perplexity"].is_number());
    CHECK(rung["perplexity"].get<double>() > 1.0);
    const auto& evaluations = words["arms"][1]["evaluations"];
    for (const auto& one : evaluations)
        CHECK(one["perplexity"].get<double>() == Approx(std::exp(one["evaluation_loss"].get<double>())));
    const auto trained = of_a_run(job, 1, {"batch.size=8"});
    check_same(evaluations[1], trained);
    CHECK(evaluations[1]["perplexity"].get<double>() ==
          Approx(trained["perplexity"].get<double>()).epsilon(1e-5));
    CHECK(words["arms"][1]["stability"]["stable"] != false);
    CHECK_THAT(bytes_of(job.file("page.html")), contains(">Perplexity<"));
}

TEST_CASE("external arms are given held-out samples, and need not evaluate them") {
    const TinyJob job;
    const auto own = bytes_of(job.file("job.toml"));
    const auto with_peer = [&](const std::string& evaluation, int code) {
        std::error_code ignored;
        fs::remove(job.file("held.safetensors"), ignored);
        job.write("job.toml", own);
        add_peer(job, "peer", evaluating_peer(evaluation));
        return compared(job, two_seeds, code);
    };
    const auto older = with_peer("", 0);
    CHECK(older["arms"][1]["status"] == "ok");
    CHECK(older["arms"][1]["evaluations"] == json({nullptr, nullptr}));
    CHECK_THAT(older["arms"][1]["not_evaluated"].get<std::string>(), contains("\"evaluates\": true"));
    const auto labels = older["arms"][0]["evaluations"][0]["labels"].get<int>();
    CHECK_THAT(bytes_of(job.file("held.safetensors")).substr(0, 4000), contains("\"0.0.labels\""));

    const auto counted = std::to_string(labels);
    const auto right = with_peer("\"samples\": " + counted + ", \"labels\": " + counted +
                                     ", \"correct\": " + counted + ", \"loss\": 0.25",
                                 0);
    INFO(right["arms"][1]["reason"]);
    CHECK(right["arms"][1]["accuracy"] == 1.0);
    CHECK(right["arms"][1]["evaluation_loss"] == 0.25);
    CHECK(right["arms"][1]["stability"]["stable"] == false);  // the base has learnt nothing in six steps
    CHECK_THAT(right["arms"][1]["stability"]["reason"].get<std::string>(),
               contains("seed 1: accuracy 1, the base has "));

    const auto fewer = with_peer("\"samples\": 1, \"labels\": 1, \"correct\": 1, \"loss\": 0.25", 1);
    CHECK(fewer["arms"][1]["status"] == "protocol_error");
    CHECK(fewer["arms"][1]["reason"] ==
          "it reports 1 labels for its evaluation; the held-out samples have " + counted);
    const auto negative = with_peer("\"samples\": 1, \"labels\": -3, \"loss\": 0.25", 1);
    CHECK_THAT(negative["arms"][1]["reason"].get<std::string>(),
               contains("\"labels\" has a value that is not a count"));
}

TEST_CASE("another build of this program evaluates the same samples, to the last bit") {
    const TinyJob job;
    fs::create_directory_symlink(build_dir(), job.file("other"));
    job.write("job.toml", bytes_of(job.file("job.toml")) +
                              "\n[[arm]]\nname = \"the other build\"\nprogram = [\"" +
                              job.file("other/bin/switchyard") + "\", \"arm\"]\n");
    const auto compare = compared(job, two_seeds);
    REQUIRE(compare["arms"].size() == 2);
    CHECK(compare["arms"][0]["accuracy"].is_number());
    CHECK(compare["arms"][1]["evaluations"] == compare["arms"][0]["evaluations"]);
}

TEST_CASE("ranks evaluate a part of the samples each, and together all of them") {
    if (std::thread::hardware_concurrency() < 2) return skip("two ranks need two processors");
    const TinyJob job;
    const auto compare = compared(
        job, with({"--arm", "one:", "--arm", "two: ranks=2 batch.size=2", "--set", "runtime.threads=1",
                   "--set", "attention.backend=naive", "--set", "normalization.backend=naive"},
                  two_seeds));
    const auto &one = compare["arms"][0], &two = compare["arms"][1];
    INFO(two["reason"]);
    REQUIRE(two["evaluations"].size() == 2);
    for (std::size_t seed = 0; seed < 2; ++seed) {
        const auto &ours = two["evaluations"][seed], &theirs = one["evaluations"][seed];
        CHECK(ours["samples"] == theirs["samples"]);
        CHECK(ours["labels"] == theirs["labels"]);
        CHECK(ours["evaluation_loss"].get<double>() ==
              Approx(theirs["evaluation_loss"].get<double>()).epsilon(1e-3));
    }
}
