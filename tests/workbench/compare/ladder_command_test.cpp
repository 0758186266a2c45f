// `switchyard compare --ladder` as a user runs it: what is planned of every ladder that comes along, and a
// short run of one of the tiny job. To add a ladder: put its file into configs/ladders.
#include <filesystem>

#include "compared.h"

using namespace switchyard::test;

namespace {

void write_ladder(const TinyJob& job, const std::string& rungs) {
    job.write("ladder.toml",
              "title = \"Tiny\"\nconfig = \"job.toml\"\n[scale.small]\nbatch_divisor = 2\n" + rungs);
}

constexpr const char* rungs = R"([[rung]]
name = "base"
[[rung]]
name = "larger"
on = "base"
set = { batch.size = 8 }
published = { speedup = 2.0 }
[[rung]]
name = "tensor cores"
on = "base"
set = { precision.backend = "amp/tf32" }
[[rung]]
name = "not there"
on = "base"
command = ["a_program_that_is_not_there"]
)";

}  // namespace

TEST_CASE("every ladder that comes along is planned, at both sizes") {
    int ladders = 0;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "configs/ladders")) {
        if (entry.path().extension() != ".toml") continue;
        ++ladders;
        INFO(entry.path().filename().string());
        const bool forward = entry.path().stem() == "molecules";
        for (const bool small : {false, true}) {
            Words words{"compare", "--ladder", entry.path().string(), "--dry-run"};
            if (forward) words.insert(words.end(), {"--operation", "forward", "--lengths", "16-256"});
            if (small) words.insert(words.end(), {"--scale", "small"});
            const auto outcome = run(words);
            INFO(outcome.err);
            REQUIRE(outcome.code == 0);
            CHECK_THAT(outcome.out, contains(" (base)"));
        }
    }
    CHECK(ladders == 10);
}

TEST_CASE("a ladder runs what can run here, tells why the rest cannot, and compares by sample") {
    const TinyJob job;
    write_ladder(job, rungs);
    const auto json = run_json({"compare", "--ladder", job.file("ladder.toml"), "--blocks", "2",
                                "--steps-per-block", "1", "--time", "0.5", "--html", job.file("page.html")});
    const JsonSchema schema(source_dir() / "docs/schema/compare.json");
    for (const auto& fault : schema.faults(json)) FAIL_CHECK(fault);
    const auto& told = json["ladder"]["rungs"];
    REQUIRE(told.size() == 4);
    CHECK(json["arms"].size() == 2);
    CHECK(told[1]["batch"] == 24);  // three of eight samples
    CHECK(told[1]["status"] == "ok");
    CHECK(told[1]["over_base"].is_object());
    CHECK(told[1]["start_up_ms"] == json["arms"][1]["start_up_ms"]);
    CHECK(told[1]["published"]["speedup"] == 2.0);
    // Steps of other samples: nothing is said of how far the first one is from the base's.
    CHECK(json["arms"][1]["drift"]["loss"].is_null());
    CHECK(json["pairs"][0]["verdict"] != "WRONG");
    CHECK(told[2]["status"] == "unavailable");
    CHECK_THAT(told[2]["reason"].get<std::string>(), contains("tf32") && contains("device: expected cuda"));
    CHECK(told[3]["status"] == "unavailable");
    CHECK_THAT(told[3]["reason"].get<std::string>(), contains("a_program_that_is_not_there"));
    CHECK_THAT(bytes_of(job.file("page.html")), contains("<h2>Ladder</h2>"));
}

TEST_CASE("an external rung of another batch loads batches of its own, and is told of what it sets") {
    const TinyJob job;
    // 52 samples in batches of 8, three of them a step: 24, 24, 4.
    auto script = polite_peer(
        R"(list=0.001; losses=0.5; i=1; while [ $i -lt $n ]; do list="$list,0.001"; losses="$losses,0.5"; i=$((i+1)); done
            i=0; samples=0; while [ $i -lt $n ]; do
                if [ $((at % 64 % 3)) -eq 2 ]; then samples=$((samples+4)); else samples=$((samples+24)); fi
                at=$((at+1)); i=$((i+1)); done
            echo "{\"type\": \"report\", \"step_ms\": [$list], \"loss\": [$losses], \"samples\": $samples, \"tokens\": $samples}")");
    const std::string reading = "while read -r line; do\n";
    script.replace(
        script.find(reading), reading.size(),
        reading + "    case $line in *'\"prepare\"'*) at=0; printf '%s\\n' \"$line\" >>told ;; esac\n");
    job.write("peer.sh", script);
    write_ladder(job, R"([[rung]]
name = "base"
[[rung]]
name = "peer"
on = "base"
set = { batch.size = 8, optimizer.lr = 5e-4 }
command = ["sh", "peer.sh"]
[[rung]]
name = "of the base's batch"
on = "peer"
set = { batch.size = 4 }
command = ["sh", "peer.sh"]
)");
    const auto json =
        run_json({"compare", "--ladder", job.file("ladder.toml"), "--blocks", "2", "--rounds", "1",
                  "--steps-per-block", "1", "--time", "0.5", "--seeds", "2", "--steps", "3"},
                 1);
    const auto& rungs = json["ladder"]["rungs"];
    INFO(rungs[1]["reason"]);
    CHECK(rungs[1]["status"] == "ok");
    CHECK(rungs[1]["batch"] == 24);
    CHECK(json["arms"][1]["final_losses"].size() == 2);
    // Which counts what the other one was given.
    CHECK(rungs[2]["status"] == "protocol_error");
    CHECK_THAT(rungs[2]["reason"].get<std::string>(), contains("; the shared batches have 12"));
    const auto all = bytes_of(job.file("told"));
    const auto told = nlohmann::json::parse(all.substr(0, all.find('\n')));
    CHECK(told["optimizer"]["lr"] == 5e-4);
    CHECK_THAT(told["batches"].get<std::string>(), contains("/shared-of-1/batches.safetensors"));
    CHECK_THAT(told["weights"].get<std::string>(), contains("/shared/weights"));

    write_ladder(job,
                 "[[rung]]\nname = \"base\"\n[[rung]]\nname = \"peer\"\non = \"base\"\n"
                 "set = { batch.max_length = 8 }\ncommand = [\"sh\", \"peer.sh\"]\n");
    const auto unfair = run({"compare", "--ladder", job.file("ladder.toml"), "--dry-run"});
    CHECK(unfair.code == 2);
    CHECK_THAT(unfair.err, contains("is not a fair comparison") && contains("batch.max_length: 8"));
}

TEST_CASE("values of --set hold for all rungs, whatever the scale sets, unless each rung has its own") {
    const TinyJob job;
    job.write("ladder.toml",
              "title = \"Tiny\"\nconfig = \"job.toml\"\n[scale.small]\nset = { model.heads = 5 }\n"
              "[[rung]]\nname = \"base\"\nset = { optimizer.lr = 1e-4 }\n"
              "[[rung]]\nname = \"decayed\"\non = \"base\"\nset = { optimizer.weight_decay = 0.1 }\n");
    const Words ladder{"compare", "--ladder", job.file("ladder.toml"), "--scale", "small", "--dry-run"};
    // The scale's number of heads does not divide the width.
    CHECK_THAT(run(ladder).err, contains("model.heads"));
    CHECK(run(with(ladder, {"--set", "model.heads=2", "--set", "optimizer.weight_decay=0.2"})).code == 0);
    const auto outcome = run(with(ladder, {"--set", "optimizer.lr=1e-3"}));
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("--set #1: optimizer.lr would change nothing, for every rung has a value "
                        "of its own"));
}

TEST_CASE("a gate over a ladder cannot tell of rungs that did not run") {
    const TinyJob job;
    write_ladder(job, rungs);
    const auto json = run_json({"compare", "--ladder", job.file("ladder.toml"), "--blocks", "2",
                                "--steps-per-block", "1", "--time", "0.5", "--fail-on", "memory:900%"},
                               4);
    REQUIRE(json["gate"].size() == 3);
    CHECK(json["gate"][0]["outcome"] == "fine");
    CHECK(json["gate"][1]["arm"] == "tensor cores");
    CHECK(json["gate"][2]["arm"] == "not there");
    for (const int at : {1, 2}) {
        CHECK(json["gate"][at]["outcome"] == "CANNOT_TELL");
        CHECK_THAT(json["gate"][at]["text"].get<std::string>(), contains("unavailable: "));
    }
    CHECK(json["exit_code"] == 4);
}

TEST_CASE("more than 64 rungs are asked for twice, as arms are") {
    const TinyJob job;
    std::string many = "[[rung]]\nname = \"base\"\n";
    for (int i = 1; i <= 64; ++i)
        many += "[[rung]]\nname = \"" + std::to_string(i) +
                "\"\non = \"base\"\nset = { optimizer.lr = " + std::to_string(i) + "e-6 }\n";
    write_ladder(job, many);
    const auto asked = run({"compare", "--ladder", job.file("ladder.toml"), "--dry-run"});
    CHECK(asked.code == 2);
    CHECK_THAT(asked.err,
               contains("there are 65 rungs, which share the time of --time; --yes compares them all\n"));
    const auto twice = run({"compare", "--ladder", job.file("ladder.toml"), "--dry-run", "--yes"});
    CHECK(twice.code == 0);
    CHECK_THAT(twice.out, contains("blocks of 65 arms: "));
}

TEST_CASE("what is wrong with a ladder, or with what is asked of it, is exit code 2") {
    const TinyJob job;
    write_ladder(job, rungs);
    const auto ladder = job.file("ladder.toml");
    const auto refused = [](const Words& words, const std::string& why) {
        const auto outcome = run(words);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(why));
    };
    refused({"compare", "--dry-run"}, "CONFIG is missing");
    refused({"compare", job.file("job.toml"), "--ladder", ladder}, "CONFIG is another");
    refused({"compare", "--ladder", ladder, "--vary", "attention.backend=naive,torch"},
            "its rungs are the arms");
    refused({"compare", "--ladder", ladder, "--scale", "tiny"}, "the ladder has only small");
    refused({"compare", "--ladder", job.file("nothing.toml")}, "nothing.toml");
    write_ladder(job, "[[rung]]\nname = \"base\"\nset = { batch.sise = 3 }\n");
    refused({"compare", "--ladder", ladder}, "rung \"base\"");
    write_ladder(
        job,
        "[[rung]]\nname = \"base\"\n[[rung]]\nname = \"other\"\non = \"base\"\nset = { model.layers = 1 }\n");
    refused({"compare", "--ladder", ladder}, "is not a fair comparison");
    write_ladder(job, "[[rung]]\nname = \"base\"\nset = { precision.backend = \"amp/tf32\" }\n");
    const auto none = run({"compare", "--ladder", ladder});
    CHECK(none.code == 1);
    CHECK_THAT(none.out, contains("unavailable"));
    CHECK_THAT(none.err, contains("no rung can run on this machine"));
}
