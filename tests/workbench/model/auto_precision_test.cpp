// What precision.parameter_dtype and precision.loss_scaling become where they are "auto". To add a case:
// policies as rules, TOML text, the row.
#include "core/workbench/model/auto_precision.h"

#include "core/kernel/config/load.h"

#include "tests/kernel/resolver/fakes.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using resolver::PlanRow;

namespace {

using P = PrecisionRequest;

config::Config load(const std::string& text) {
    config::LoadRequest request;
    request.path = "job.toml";
    request.text = text;
    const auto result = config::load(request);
    INFO(config::render(result.problems));
    REQUIRE(result.config);
    return *result.config;
}

// Serves parameters of that dtype, and the loss scaled only where `scales`.
Rule<P> policy(DType dtype, bool scales) {
    return [=](const P& request, Verdict& verdict) {
        if (request.dtype != dtype) verdict.reject(Code::DType, "dtype", name(dtype), name(request.dtype));
        if (request.loss_scaling && !scales) verdict.reject(Code::Option, "loss_scaling", "false", "true");
    };
}

const std::vector<resolver::Candidate>& policies() {
    static const std::vector<resolver::Candidate> all{
        candidate<P>("p/full", 9, policy(DType::float32, false)),
        candidate<P>("p/half", 1, policy(DType::float32, true)),
        candidate<P>("p/pure", 2, policy(DType::bfloat16, false))};
    return all;
}

PlanRow row_for(const std::string& text) {
    return model::resolve_precision(load(text), policies(), test_host(), {});
}

std::string chosen(const PlanRow& row) {
    if (!row.chosen) return "none";
    const auto& request = static_cast<const P&>(*row.chosen->request);
    const auto& shown = static_cast<const P&>(*row.use.request);
    CHECK((shown.dtype == request.dtype && shown.loss_scaling == request.loss_scaling));
    return row.chosen->component + " " + std::string(name(request.dtype)) +
           (request.loss_scaling ? " scaled" : "");
}

std::string with(const std::string& backend, const std::string& more = "") {
    return chosen(row_for(more + "\n[precision]\nbackend = " + backend + "\n"));
}

}  // namespace

TEST_CASE("the policy that is named decides how parameters are stored and whether the loss is scaled") {
    CHECK(with("\"full\"") == "full float32");
    CHECK(with("\"half\"") == "half float32 scaled");
    CHECK(with("\"pure\"") == "pure bfloat16");
}

TEST_CASE("a list is an ordered choice whatever its policies ask for") {
    CHECK(with("[\"pure\", \"full\"]") == "pure bfloat16");
    CHECK(with("[\"half\", \"pure\"]") == "half float32 scaled");
    CHECK(with("\"auto\"") == "full float32");
}

TEST_CASE("nothing is scaled where nothing is trained") {
    CHECK(with("\"half\"", "run.phases = [\"eval\"]") == "half float32");
}

TEST_CASE("what is written wins") {
    CHECK(chosen(row_for("[precision]\nbackend = \"half\"\nloss_scaling = false\n")) == "half float32");
    CHECK(chosen(row_for("[precision]\nloss_scaling = true\n")) == "half float32 scaled");
    CHECK(chosen(row_for("[precision]\nparameter_dtype = \"bfloat16\"\n")) == "pure bfloat16");
}

TEST_CASE("what auto became is told in words") {
    const auto note = [](const std::string& more) {
        const auto row = row_for("[precision]\n" + more);
        REQUIRE(row.notes.size() == 1);
        return row.notes.front();
    };
    CHECK(note("backend = \"pure\"\n") ==
          "parameters in bfloat16 (auto) with float32 masters, no loss scaling (auto)");
    CHECK(note("backend = \"half\"\nparameter_dtype = \"float32\"\n") ==
          "parameters in float32, the loss is scaled (auto)");
    CHECK(row_for("run.phases = [\"eval\"]\n[precision]\nbackend = \"pure\"\n").notes ==
          std::vector<std::string>{"parameters in bfloat16 (auto)"});
}

TEST_CASE("a contradiction to the policy is an error that says what to do") {
    const auto dtype = row_for("[precision]\nbackend = \"pure\"\nparameter_dtype = \"float32\"\n");
    CHECK_FALSE(dtype.chosen);
    CHECK_THAT(dtype.error,
               contains("\n    precision.parameter_dtype = \"float32\" (job.toml:3:1) contradicts p/pure, "
                        "which stores parameters in bfloat16: leave it out, or write \"auto\""));
    const auto scaling = row_for("[precision]\nbackend = \"full\"\nloss_scaling = true\n");
    CHECK_FALSE(scaling.chosen);
    CHECK_THAT(scaling.error,
               contains("\n    precision.loss_scaling = true (job.toml:3:1) contradicts p/full, "
                        "whose range needs no loss scale: leave it out, or write \"auto\""));
}

TEST_CASE("scaling that the policy has and that is switched off is warned of") {
    CHECK(row_for("[precision]\nbackend = \"half\"\nloss_scaling = false\n").warnings ==
          std::vector<std::string>{"precision.loss_scaling = false (job.toml:3:1): p/half scales the loss "
                                   "because small gradients do "
                                   "not fit its dtype: below 6e-8 they are 0 in float16, and what they would "
                                   "teach is lost; leave it "
                                   "out, or write \"auto\""});
    CHECK(row_for("[precision]\nbackend = \"half\"\n").warnings.empty());
    CHECK(row_for("[precision]\nbackend = \"full\"\nloss_scaling = false\n").warnings.empty());
}

TEST_CASE("a configuration takes what auto became in its plan") {
    const auto config = load("[precision]\nbackend = \"pure\"\n");
    resolver::Plan plan;
    plan.rows.push_back(model::resolve_precision(config, policies(), test_host(), {}));
    const auto settled = model::with_precision_of(config, plan);
    CHECK(settled.precision.parameter_dtype == DType::bfloat16);
    CHECK(settled.precision.loss_scaling == false);
    CHECK_FALSE(config.precision.parameter_dtype);
}
