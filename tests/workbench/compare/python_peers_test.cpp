// The peers in Python (examples/peers), as far as they go without PyTorch.
#include "compared.h"

using namespace switchyard::test;

namespace {

// Without the packages of this machine (-S), in the peers' folder.
Outcome python(const std::string& words, const std::string& input) {
    const auto peers = (source_dir() / "examples/peers").string();
    return run_program(
        {"sh", "-c",
         "cd " + peers + " && echo '" + input + "' | PYTHONDONTWRITEBYTECODE=1 python3 -S " + words});
}

}  // namespace

TEST_CASE("a peer in Python tells in its answer which module it needs, and what brings it") {
    if (!in_path("python3")) return skip("python3 is not in PATH");
    for (const std::string peer : {"eager_peer.py", "nested_peer.py", "transformers_peer.py", "onnx_peer.py",
                                   "ddp_peer.py --ranks 1"}) {
        INFO(peer);
        const auto outcome = python(peer, R"({"type": "prepare"})");
        INFO(outcome.err);
        CHECK(outcome.code == 1);
        const auto answer = nlohmann::json::parse(outcome.out);
        CHECK(answer["type"] == "error");
        CHECK_THAT(answer["text"].get<std::string>(), contains("has no module named "));
        CHECK_THAT(answer["text"].get<std::string>(), contains("requirements.txt` brings it"));
        CHECK(outcome.err.find("Traceback") == std::string::npos);
    }
}

TEST_CASE("peers in Python count the share of others as Switchyard's arms do") {
    if (!in_path("python3")) return skip("python3 is not in PATH");
    const auto outcome = python(
        "-c \"import arm, os; os.cpu_count = lambda: 2; os.sysconf = lambda name: 100\n"
        "others = arm.share_of_others\n"
        "print(others((100, 50, 10), (110, 50, 16)), others((100, 50, 10), (107.5, 52.5, 10)),\n"
        "      others((100, 50, 10), (100.12, 50, 10.11)), others(None, (0, 0, 0)), file=arm.answers)\"",
        "");
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    // As in other_work_test.cpp: two ticks of 10 s say nothing.
    CHECK(outcome.out.rfind("0.398", 0) == 0);
    CHECK_THAT(outcome.out, contains(" 0.0 0.0 None\n"));
}
