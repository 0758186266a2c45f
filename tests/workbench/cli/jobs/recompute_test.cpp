// Activation checkpointing under each precision policy, of whole runs with dropout. Float8's recipes:
// float8_test.cpp; models and layouts: tests/workbench/model.
// To add a policy: its name.
#include <algorithm>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("recomputation trains to the same bits under every policy") {
    const TinyJob job;
    for (const std::string policy : {"naive/reference", "torch/fp32", "torch/bf16", "amp/fp32", "amp/bf16",
                                     "amp/fp16", "amp/bf16_pure"}) {
        INFO(policy);
        auto name = policy;
        std::replace(name.begin(), name.end(), '/', '_');
        check_recomputation(job, name, {"train.steps=3", "precision.backend=" + policy});
        CHECK(json_of(fs::path(job.run_folder(name + "_layers")) / "summary.json")["skipped_steps"] == 0);
    }
}
