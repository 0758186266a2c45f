// A GPT learns as well in float8 (the CPU's reference) as in bfloat16. 300 steps of a larger one are in
// docs/benchmarks.md. To add a case: a recipe.
#include <cmath>

#include "language_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Sixty molecules, drawn by counting.
std::string molecules() {
    const Words parts{"CC", "C(=O)", "c1ccccc1", "O", "N", "C1CC1", "CO", "[nH]", "C(C)C", "=C"};
    std::string text;
    for (std::size_t i = 0; i < 60; ++i) {
        for (std::size_t part = 0; part < 2 + i % 3; ++part)
            text += parts[(i * 7 + part * (3 + i / 10)) % parts.size()];
        text += "\n";
    }
    return text;
}

Words sets_of(const std::string& backend) {
    return {"precision.backend=" + backend, "train.steps=40", "optimizer.lr=2e-3"};
}

double final_loss(const LanguageJob& job, const std::string& run, const Words& sets) {
    job.trained("gpt", run, sets);
    return eval_losses(job.file(run)).rbegin()->second;
}

}  // namespace

TEST_CASE("with every recipe a GPT trains to a loss within 2 % of bfloat16's") {
    const LanguageJob job;
    job.files().write("mol.smi", molecules());
    const double low = final_loss(job, "bf16", sets_of("amp/bf16"));
    CHECK(low < 2.2);  // log(16) = 2.77 where nothing was learned
    for (const std::string recipe : {"delayed", "current", "blockwise"}) {
        INFO(recipe);
        auto sets = sets_of("fp8");
        for (const std::string set : {"cpu_reference=true", "min_intensity=0", "keep_first=0", "keep_last=0"})
            sets.push_back("precision.options.fp8." + set);
        sets.push_back("precision.options.fp8.recipe=" + recipe);
        const double loss = final_loss(job, recipe, sets);
        CHECK(std::abs(loss - low) <= 0.02 * low);
        CHECK(loss != low);
    }
    CHECK(job.written("delayed", {"--samples", "1", "--max-tokens", "5"}).size() == 1);
}
