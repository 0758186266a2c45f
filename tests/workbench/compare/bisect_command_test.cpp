// `switchyard plugins bisect` on the tiny job, for real.
#include "compared.h"

using namespace switchyard::test;

namespace {

std::string plan_file(const TinyJob& job, const std::string& name, const std::string& slots,
                      const std::string& hidden = "32") {
    job.write(name, R"([model]
type = "gpt"
layers = 2
hidden_size = )" + hidden +
                        R"(
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 32
dropout = 0.0
attention_dropout = 0.0
[task]
kind = "causal_lm"
[train]
steps = 8
[runtime]
auto = "priority"
[plugins]
paths = [")" + (build_dir() / "tests/support/plugins/errs").string() +
                        "\"]\n" + slots);
    return job.file(name);
}

const std::string torch =
    "[attention]\nbackend = \"torch\"\n[normalization]\nbackend = \"torch\"\n"
    "[optimizer]\nbackend = \"torch\"\nlr = 1e-3\n";

}  // namespace

TEST_CASE("components that compute the same are found to, and each slot that differs is told") {
    const TinyJob job;
    const auto first = plan_file(job, "first.toml", torch);
    const auto second =
        plan_file(job, "second.toml",
                  "[attention]\nbackend = \"chunked\"\noptions.chunked.chunk_size = 7\n"
                  "[normalization]\nbackend = \"fused\"\n[optimizer]\nbackend = \"torch\"\nlr = 1e-3\n");
    const auto json = run_json({"plugins", "bisect", first, second, "--steps", "3"}, 0);
    CHECK(schema_faults("plugins_bisect.json", json) == no_faults);
    REQUIRE(json["changes"].size() == 3);
    CHECK(json["changes"][0]["change"] == "attention");
    CHECK(json["changes"][0]["second"] == "chunked/chunked chunk_size=7 key_chunk_size=0");
    CHECK(json["changes"][1]["change"] == "normalization");
    CHECK(json["changes"][2]["change"] == "all of them");
    for (const auto& change : json["changes"]) {
        CHECK(change["wrong"] == false);
        CHECK(change["finding"] == "the first step is the same within rounding");
        CHECK(change["first_loss_apart"].get<double>() < 1e-4);
    }
    CHECK(json["steps"] == 3);
    CHECK(json["losses"].size() == 3);
    const auto same = run({"plugins", "bisect", first, first});
    CHECK(same.code == 0);
    CHECK_THAT(same.out, contains("the two plans are the same"));
    CHECK(schema_faults("plugins_bisect.json", run_json({"plugins", "bisect", first, first}, 0)) ==
          no_faults);
}

TEST_CASE(
    "the slot that is wrong is told, alone and with the others, and so is one that only trains differently") {
    const TinyJob job;
    const auto first = plan_file(job, "first.toml", torch);
    const auto second =
        plan_file(job, "second.toml",
                  "[attention]\nbackend = \"test_errs/unmasked\"\n[normalization]\nbackend = \"fused\"\n"
                  "[optimizer]\nbackend = \"torch\"\nlr = 1e-3\n");
    const auto json = run_json({"plugins", "bisect", first, second, "--steps", "3"}, 5);
    CHECK(schema_faults("plugins_bisect.json", json) == no_faults);
    CHECK(json["changes"][0]["change"] == "attention");
    CHECK(json["changes"][0]["wrong"] == true);
    CHECK(json["changes"][1]["wrong"] == false);
    CHECK(json["changes"][2]["wrong"] == true);
    CHECK(json["parts_most_with"] == "attention");
    const auto text = run({"plugins", "bisect", first, second, "--steps", "3"});
    CHECK(text.code == 5);
    CHECK_THAT(text.out, contains("WRONG: at the first step its outputs are "));
    CHECK_THAT(text.out, contains("second.toml, 3 steps; its loss goes from "));
    CHECK_THAT(text.out, contains("Losses part most with attention: by ") && contains(" after 3 steps."));
}

TEST_CASE("plans that cannot be compared are refused") {
    const TinyJob job;
    const auto first = plan_file(job, "first.toml", torch);
    check_refused(run({"plugins", "bisect", first, plan_file(job, "wide.toml", torch, "64")}),
                  {"train different things", "model.hidden_size"});
    check_refused(
        run({"plugins", "bisect", first,
             plan_file(job, "layers.toml",
                       torch + "[[layer]]\nmatch = \"decoder.0\"\nattention.backend = \"naive\"\n")}),
        {"layers.toml: [[layer]] gives single layers components of their own"});
    check_refused(run({"plugins", "bisect", first, job.file("none.toml")}), {"none.toml"});
}
