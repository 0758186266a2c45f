// Which changes of a job make a run another one. To add a case: a line in the test, of what was and what is.
#include "core/workbench/train/run_facts.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Length {
    std::string steps, warmup_steps;
};

train::RunFacts facts_of(const Length& length) {
    train::RunFacts facts;
    facts.config = {{"train.schedule", "\"constant\""},
                    {"train.warmup_ratio", "0.0"},
                    {"train.steps", length.steps},
                    {"train.warmup_steps", length.warmup_steps}};
    return facts;
}

// Whether another number of steps counts.
bool steps_count(const Length& was, const Length& is) {
    for (const auto& change : train::changes_between(facts_of(was), facts_of(is)))
        if (change.key == "train.steps") return change.counts;
    return false;
}

}  // namespace

TEST_CASE("another number of steps counts where a warm-up is cut to it") {
    CHECK(steps_count({"5", "10"}, {"8", "10"}));
    CHECK(steps_count({"5", "10"}, {"20", "10"}));
    CHECK(steps_count({"20", "10"}, {"5", "10"}));
    CHECK_FALSE(steps_count({"10", "10"}, {"20", "10"}));
    CHECK_FALSE(steps_count({"5", "0"}, {"20", "0"}));
    CHECK_FALSE(steps_count({"0", "10"}, {"20", "10"}));
}
