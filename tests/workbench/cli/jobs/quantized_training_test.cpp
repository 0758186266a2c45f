// Training that gets a model used to whole numbers, by the ordinary trainer: what the quantized model
// computes afterwards is what training saw.
// To add a way of quantizing: a line in the table.
#include "tiny_job.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

double loss_of(const nlohmann::json& scores) { return scores["loss"].get<double>(); }

}  // namespace

TEST_CASE(
    "a model that was trained with fake quantization has the loss that training saw when it is quantized") {
    const TinyJob job;
    const auto rows = job.file("rows.tsv");
    const Words evaluated_on_all{"data.eval=[\"" + rows + "\"]", "train.steps=30", "model.dropout=0.0",
                                 "model.attention_dropout=0.0", "optimizer.lr=2e-3"};
    const auto train = [&](const std::string& run_name, const Words& sets) {
        const auto outcome = job.trained(run_name, with(evaluated_on_all, sets));
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return loss_of(json_of(fs::path(job.run_folder(run_name)) / "summary.json")["eval"]);
    };
    const auto quantized = [&](const std::string& run_name, const Words& sets) {
        Words words{"evaluate", job.run_folder(run_name), rows};
        for (const auto& set : sets) words.insert(words.end(), {"--set", set});
        return loss_of(run_json(words));
    };
    struct Way {
        std::string name;
        Words training, use;
    };
    const std::string options = "linear.options.fake_quantized.";
    const std::vector<Way> ways{{"eight", {}, {"linear.backend=int8/dynamic"}},
                                {"four",
                                 {options + "bits=4", options + "group=0", options + "inputs=false"},
                                 {"linear.backend=int8/weight_int4", "linear.options.weight_int4.group=0"}}};
    const auto plain = train("plain", {});
    for (const auto& [name, training, use] : ways) {
        INFO(name);
        const auto saw = train(name, with({"linear.backend=int8/fake_quantized"}, training));
        const auto got = quantized(name, use), without = quantized("plain", use);
        INFO("saw " << saw << ", got " << got << "; trained without " << plain << ", got " << without);
        CHECK(got == Approx(saw).epsilon(1e-4));
        CHECK(std::abs(got - saw) < 0.1 * std::abs(without - plain));
        // As floats the weights are others than training saw.
        CHECK(std::abs(quantized(name, {"linear.backend=torch"}) - saw) > 2.0 * std::abs(got - saw));
    }
}
