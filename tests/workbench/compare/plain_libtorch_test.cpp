// The peer in C++ (examples/peers/plain_libtorch), which has no line of Switchyard: it proves that what
// external arms are told is enough for them, and the components right.
#include "compared.h"

using namespace switchyard::test;

namespace {

nlohmann::json beside_plain(const std::string& arguments, const Words& more, int code = 0) {
    const TinyJob job;
    const auto program = (build_dir() / "examples/plain_libtorch").string();
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[[arm]]\nname = \"plain\"\nprogram = [\"" +
                              program + "\"" + arguments + "]\n");
    Words words{"--set", "optimizer.algorithm=adamw"};
    words.insert(words.end(), more.begin(), more.end());
    return compared(job, words, code);
}

}  // namespace

TEST_CASE("a training step of plain LibTorch calls begins as that of the components") {
    const auto json = beside_plain("", {});
    const auto& plain = json["arms"][1];
    CHECK(plain["status"] == "ok");
    CHECK(plain["description"] == "plain LibTorch calls");
    CHECK(plain["dtype"] == "float32");
    CHECK(plain["drift"]["loss"].get<double>() < 1e-5);
    CHECK(plain["drift"]["output"].get<double>() < 1e-5);
    CHECK(plain["drift"]["gradient"].get<double>() < 1e-5);
}

TEST_CASE("plain LibTorch calls under autocast begin as the policy torch/bf16") {
    const auto json = beside_plain(", \"--dtype\", \"bfloat16\"", {"--set", "precision.backend=torch/bf16"});
    const auto& plain = json["arms"][1];
    CHECK(plain["status"] == "ok");
    CHECK(plain["dtype"] == "bfloat16");
    CHECK(plain["drift"]["output"].get<double>() < 3e-2);
    CHECK(plain["drift"]["gradient"].get<double>() < 3e-2);
}

TEST_CASE("a step that is not written down in plain LibTorch calls is refused in its own words") {
    const auto json = beside_plain("", {"--set", "optimizer.algorithm=sgd"}, 1);
    CHECK_THAT(json["arms"][1]["reason"].get<std::string>(), contains("this step is written for AdamW"));
}
