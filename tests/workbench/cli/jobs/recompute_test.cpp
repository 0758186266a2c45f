// Activation checkpointing of whole runs with dropout, under the policy that has most to keep. Each
// policy and float8's recipes: tests/workbench/train/recompute_test.cpp; models and layouts:
// tests/workbench/model.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("recomputation trains whole runs to the same bits") {
    const TinyJob job;
    check_recomputation(job, "fp16", {"train.steps=3", "precision.backend=amp/fp16"});
    CHECK(json_of(fs::path(job.run_folder("fp16_layers")) / "summary.json")["skipped_steps"] == 0);
}
