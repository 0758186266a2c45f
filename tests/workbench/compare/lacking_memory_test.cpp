// Arms that run out of memory, for real: a limit on the data of their processes, of which what LibTorch maps
// is no part. To add a case: a batch whose logits are more than that.
#include <algorithm>

#include <sys/resource.h>

#include "compared.h"

#include "sanitized.h"

using namespace switchyard::test;

namespace {

// Logits of a sample are 6.4 MB; nothing else is large.
std::string language_model(const TinyJob& job) {
    return job.write("language.toml", R"([model]
type = "gpt"
layers = 1
hidden_size = 8
heads = 1
intermediate_size = 16
vocab_size = 50000
max_positions = 32
[task]
kind = "causal_lm"
[batch]
size = 1
max_length = 32
)" + torch_slots("1e-3"));
}

RunOptions limited() {
    RunOptions options;
    options.in_child = [] {
        const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
        ::setrlimit(RLIMIT_DATA, &limit);
    };
    return options;
}

}  // namespace

TEST_CASE("an arm that runs out of memory is a row that says what to lower, the other finishes") {
    if (sanitized) return skip("built with a sanitizer: its memory is not limited");
    const TinyJob job;
    language_model(job);
    job.write("ladder.toml", R"(title = "Batches"
config = "language.toml"
[[rung]]
name = "base"
[[rung]]
name = "giant"
on = "base"
set = { batch.size = 512 }
)");
    const auto json = run_json({"compare", "--ladder", job.file("ladder.toml"), "--blocks", "2",
                                "--steps-per-block", "1", "--time", "0.5"},
                               1, limited());
    CHECK(json["arms"][0]["status"] == "ok");
    CHECK(json["blocks"] == 2);
    CHECK(json["arms"][1]["status"] == "failed");
    const auto reason = json["arms"][1]["reason"].get<std::string>();
    CHECK_THAT(reason, contains("cannot allocate ") && contains("smaller batch.size"));
    CHECK_THAT(reason, !contains("frame #"));
}

TEST_CASE("fit goes on below a size that ran out of memory") {
    if (sanitized) return skip("built with a sanitizer: its memory is not limited");
    const TinyJob job;
    const auto json =
        run_json({"fit", language_model(job), "--memory", "100GB", "--steps", "1"}, 0, limited());
    CHECK(schema_faults("fit.json", json) == no_faults);
    const auto largest = json["batch_size"].get<std::int64_t>();
    CHECK(largest >= 1);
    CHECK(largest < 170);  // whose logits alone are more
    CHECK(json["failed_above"].is_null());
    for (const auto& size : json["sizes"]) {
        if (size["batch_size"].get<std::int64_t>() <= largest) continue;
        INFO(size);
        CHECK(size["outcome"] == "too_large");
        CHECK_THAT(size["reason"].get<std::string>(), contains("cannot allocate "));
    }
}
