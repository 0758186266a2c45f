// External arms: programs that speak the protocol, or do not. POSIX shell scripts, so that nothing has to be
// installed.
// To add a case: a script, the status and the reason that its row shows.
#include <algorithm>
#include <chrono>

#include "compared.h"

using namespace switchyard::test;

namespace {

// It counts the shared batches: 12 samples a step, and 4 in each fifth, with which the 52 samples of the job
// end. Its turns are longer than the times that it reports, by more than the coordinator overlooks.
const std::string honest =
    R"(list=1e-6; losses=0.5; i=1; while [ $i -lt $n ]; do list="$list,1e-6"; losses="$losses,0.5"; i=$((i+1)); done; sleep 0.05
            i=0; samples=0; while [ $i -lt $n ]; do
                if [ $((${at:-0} % 64 % 5)) -eq 4 ]; then samples=$((samples+4)); else samples=$((samples+12)); fi
                at=$((${at:-0}+1)); i=$((i+1)); done
            echo "{\"type\": \"report\", \"step_ms\": [$list], \"loss\": [$losses], \"samples\": $samples, \"tokens\": $((5*samples))}")";

nlohmann::json row_of(const std::string& script, const Words& more = {}) {
    const TinyJob job;
    add_peer(job, "peer", script);
    const auto json = compared(job, more, 1);
    CHECK(json["arms"][0]["name"] == "as configured");
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["blocks"] == 2);
    return json["arms"][1];
}

}  // namespace

TEST_CASE("a polite program stands in the experiment like any arm, and may say little") {
    const TinyJob job;
    add_peer(job, "peer", polite_peer(honest));
    const auto json = compared(job, {});
    const auto& peer = json["arms"][1];
    CHECK(peer["status"] == "ok");
    CHECK(peer["description"] == "a shell script");
    CHECK(peer["program"] == nlohmann::json({"sh", "peer.sh"}));
    CHECK(peer["peak_memory_bytes"].is_null());
    CHECK(peer["drift"]["output"].is_null());
    CHECK(peer["timed_by"] == "coordinator");  // it claims next to nothing of turns that take 50 ms
    CHECK(peer["losses"].size() == json["arms"][0]["losses"].size());
    CHECK(json["pairs"].size() == 1);
}

TEST_CASE("what an external arm is told: the model, and files with equal weights and batches") {
    const TinyJob job;
    const auto told = job.file("told.json"), weights = job.file("weights.bytes"),
               batches = job.file("batches.bytes");
    add_peer(job, "peer",
             "read -r line; printf '%s\\n' \"$line\" >" + told +
                 "\nshared=${line##*\\\"weights\\\":\\\"}; shared=${shared%%/weights\\\"*}\ncp "
                 "\"$shared/weights/model.safetensors\" " +
                 weights + "; cp \"$shared/batches.safetensors\" " + batches +
                 "; ls \"$shared/weights\" >&2\nexit 3\n");
    const auto json = compared(job, {}, 1);
    CHECK(json["arms"][1]["status"] == "crashed");
    CHECK(json["arms"][1]["reason"] ==
          "ended with exit code 3 while it prepared\nconfig.json\nmodel.safetensors");
    const auto message = json_of(told);
    CHECK(message["type"] == "prepare");
    CHECK(message["protocol"] == 2);
    CHECK(message["seed"] == 3);
    CHECK(message["model"]["layers"] == 2);
    CHECK(message["task"]["kind"] == "classification");
    CHECK(message["optimizer"]["lr"] == 1e-3);
    CHECK(message["schedule"]["kind"] == "constant");
    CHECK_THAT(bytes_of(weights), contains("bert.encoder.layer.1.attention.self.query.weight"));
    CHECK_THAT(bytes_of(batches), contains("\"63.2.attention_mask\""));  // 64 steps of 3 batches
}

TEST_CASE("another build of this program is an arm by its own command") {
    const TinyJob job;
    std::filesystem::create_directory_symlink(build_dir(), job.file("other"));
    job.write("job.toml", bytes_of(job.file("job.toml")) +
                              "\n[[arm]]\nname = \"the other build\"\nprogram = [\"" +
                              job.file("other/bin/switchyard") + "\", \"arm\"]\n");
    const auto json = compared(job, {"--set", "optimizer.lr=5e-4"});
    REQUIRE(json["arms"].size() == 2);
    CHECK(json["arms"][1]["status"] == "ok");
    CHECK(json["arms"][1]["description"] == "switchyard");
    CHECK(json["arms"][1]["executed"]["attention"][0]["plugin"] == "torch");
    // With the same values on the same batches it is the same program, to the last bit.
    CHECK(json["arms"][1]["drift"]["gradient"] == 0.0);
    CHECK(json["arms"][1]["losses"] == json["arms"][0]["losses"]);
}

TEST_CASE("a program that breaks the protocol is named with the line it sent") {
    auto row = row_of("read -r line; echo 'Loading weights: 10%'; sleep 100\n");
    CHECK(row["status"] == "protocol_error");
    CHECK(row["reason"] == "its line is not JSON: 'Loading weights: 10%'");
    row = row_of(polite_peer(R"(echo '{"type": "report", "step_ms": [], "loss": []}')"));
    CHECK(row["status"] == "protocol_error");
    CHECK_THAT(row["reason"].get<std::string>(), contains("\"step_ms\" is not a list of "));
    row = row_of("while :; do echo spam; done\n");
    CHECK(row["status"] == "protocol_error");
}

TEST_CASE("a program that counts more than the shared batches have is no faster for it") {
    const auto row = row_of(polite_peer(
        R"(echo '{"type": "report", "step_ms": [0.01], "loss": [0.5], "samples": 9007199254740, "tokens": 9}')"));
    CHECK(row["status"] == "protocol_error");
    CHECK(row["reason"] == "it reports 9007199254740 samples for 1 step; the shared batches have 12");
}

TEST_CASE("a program that crashes, ends, hangs, closes its output or gives up") {
    auto row = row_of("read -r line; echo 'no memory' >&2; kill -SEGV $$\n");
    CHECK(row["status"] == "crashed");
    CHECK(row["reason"] == "was killed by signal 11 (Segmentation fault) while it prepared\nno memory");
    row = row_of(polite_peer("exit 7"));
    CHECK(row["status"] == "crashed");
    CHECK(row["reason"] == "ended with exit code 7 while it warmed up");
    row = row_of("exec >&-; sleep 100\n");
    CHECK(row["reason"] == "closed its standard output while it prepared");
    row = row_of(polite_peer(R"(echo '{"type": "error", "text": "out of ideas"}')"));
    CHECK(row["status"] == "failed");
    CHECK(row["reason"] == "out of ideas");
}

TEST_CASE("a program that hangs is not waited for longer than allowed") {
    // Five times what a whole comparison takes now is enough for the arm beside it, whatever else the machine
    // does.
    const TinyJob whole;
    add_peer(whole, "peer", polite_peer(honest));
    const auto begun = std::chrono::steady_clock::now();
    compared(whole, {});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const auto allowed = std::to_string(std::max(5, static_cast<int>(5 * took.count())));

    const TinyJob job;
    add_peer(job, "peer", polite_peer("sleep 10000"));
    const auto json = compared(job, {"--timeout", allowed}, 1);
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["arms"][1]["status"] == "timed_out");
    CHECK(json["arms"][1]["reason"] == "did not answer within " + allowed + " s while it warmed up");
}
