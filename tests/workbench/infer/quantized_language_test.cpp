// Language models in 8 and 4 bits: what `quantize` tells of them, and that every command takes them.
#include "json_schema.h"
#include "language_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

TEST_CASE("a gpt is quantized, told with its perplexity, and written, evaluated and timed with") {
    const LanguageJob job;
    job.trained("gpt", "run", {"train.steps=150"});
    const auto run_folder = job.file("run"), texts = job.file("mol.smi");
    const auto timed = [&](const std::string& what) {
        const auto told = run_json(
            {"bench", "inference", what, "--batch", "1", "--length", "4", "--tokens", "3", "--blocks", "1"});
        const auto& arm = told["arms"][0];
        INFO(arm.dump());
        CHECK(arm["status"] == "ok");
        return arm["weight_bytes"].get<double>();
    };
    const auto floats = timed(run_folder);
    struct Method {
        std::string name;
        double most;  // of the perplexity, by which it may grow
    };
    for (const auto& [method, most] : {Method{"weight-int8", 0.001}, Method{"weight-int4", 0.02}}) {
        INFO(method);
        const auto out = job.file(method);
        const Words words{"quantize", run_folder, "--method", method, "--out"};
        const auto told = run_json(with(words, {out}));
        CHECK(schema_faults("quantize.json", told) == no_faults);
        CHECK(told["layers"].size() == 2 * 6);  // the head is the table of words, and stays floats
        const auto perplexity = [&](const char* when) { return told[when]["perplexity"].get<double>(); };
        CHECK(perplexity("before") == Approx(job.summary("run")["eval"]["perplexity"].get<double>()));
        CHECK(perplexity("before") < 1.6);
        CHECK(perplexity("after") != perplexity("before"));
        CHECK(perplexity("after") < (1.0 + most) * perplexity("before"));
        const auto shown = run(with(words, {out + "-shown"}));
        CHECK(shown.code == 0);
        CHECK_THAT(shown.out, contains("perplexity"));

        CHECK(run_json({"evaluate", out, texts})["perplexity"].get<double>() == Approx(perplexity("after")));
        const Words asked{"--prompt", "c1", "--temperature", "0"};
        CHECK(job.written(method, asked) == Words{"c1ccccc1"});
        CHECK(job.written(method, with(asked, {"--no-cache"})) == Words{"c1ccccc1"});
        CHECK(timed(out) < floats);
    }
}
