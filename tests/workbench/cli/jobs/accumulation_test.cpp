// A step over N micro-batches equals a step over all of them in one batch, weighted by samples, in the last
// and smaller group of an epoch too.
// To add a case: a line of "what is swapped".
#include "safetensors_text.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Largest difference of the parameters of two runs over the largest parameter.
double distance(const fs::path& a, const fs::path& b) {
    const auto left = SafetensorsText::of(bytes_of(a / "model/model.safetensors"));
    const auto right = SafetensorsText::of(bytes_of(b / "model/model.safetensors"));
    double difference = 0.0, largest = 0.0;
    for (const auto& [name, entry] : left.header.items()) {
        if (name == "__metadata__") continue;
        const auto x = left.values(name), y = right.values(name);
        REQUIRE(x.size() == y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            difference = std::max(difference, std::abs(static_cast<double>(x[i]) - y[i]));
            largest = std::max(largest, std::abs(static_cast<double>(x[i])));
        }
    }
    return difference / largest;
}

}  // namespace

TEST_CASE("micro-batches equal one batch") {
    // sgd: adamw makes a whole step of what is rounding in a gradient of zero.
    const Words common{"optimizer.algorithm=sgd", "optimizer.lr=0.1", "train.steps=9"};
    const Words without_dropout{"model.dropout=0", "model.attention_dropout=0"};
    // The reference's dropout knows a sequence by its number in the step; LibTorch's own draws anew for each
    // call.
    const Words naive{"attention.backend=naive", "normalization.backend=naive", "activation.backend=naive"};
    const Words packed{"batch.layout=packed"};
    const TinyJob job;
    const std::vector<std::vector<Words>> swapped{
        {without_dropout}, {without_dropout, packed}, {naive}, {naive, packed}};
    for (std::size_t i = 0; i < swapped.size(); ++i) {
        INFO("what is swapped: line " << i);
        auto sets = common;
        for (const auto& more : swapped[i]) sets.insert(sets.end(), more.begin(), more.end());
        auto one = sets, several = sets;
        one.insert(one.end(), {"batch.size=20", "train.grad_accumulation_steps=1"});
        several.insert(several.end(), {"batch.size=5", "train.grad_accumulation_steps=4"});
        const auto name = std::to_string(i);
        job.trained("one" + name, one);
        job.trained("several" + name, several);

        // Neither batches nor groups come out even, or the smaller ones would not be tested.
        const auto used =
            json_of(fs::path(job.run_folder("one" + name)) / "summary.json")["rows"]["used"].get<int>();
        REQUIRE(used % 5 != 0);
        REQUIRE((used + 4) / 5 % 4 != 0);

        const auto expected = step_losses(job.run_folder("one" + name));
        const auto actual = step_losses(job.run_folder("several" + name));
        REQUIRE(expected.size() == 9);
        REQUIRE(actual.size() == 9);
        for (const auto& [step, loss] : expected) CHECK(actual.at(step) == Approx(loss).epsilon(5e-6));
        CHECK(distance(job.run_folder("one" + name), job.run_folder("several" + name)) < 5e-6);
    }
}
