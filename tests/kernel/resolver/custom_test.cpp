// Formulas that only one component knows: who is asked for them, and what is said where nobody brings one.
#include "fakes.h"

#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/request_fields.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// `all` says yes to whatever it is asked, as a component does that never heard of custom algorithms.
std::vector<resolver::Candidate> optimizers_found() {
    auto own = candidate<OptimizerRequest>("mine/mine", 5);
    own.manifest.custom = {"adafactor", "shampoo"};
    return {candidate<OptimizerRequest>("all/all", 50), own};
}

OptimizerRequest request_for(const std::string& custom) {
    OptimizerRequest request;
    request.algorithm = OptimizerKind::custom;
    request.custom = custom;
    return request;
}

resolver::PlanRow custom_row(const std::string& custom, std::vector<std::string> backend = {"auto"},
                             const resolver::ResolveOptions& options = {},
                             const std::vector<resolver::Candidate>& candidates = optimizers_found()) {
    return resolve(use(request_for(custom), std::move(backend)), candidates, test_host(), options);
}

}  // namespace

TEST_CASE("only a component that names a custom algorithm in its manifest is asked for it") {
    const auto row = custom_row("adafactor");
    REQUIRE(row.chosen.has_value());
    CHECK(full_name(*row.chosen) == "mine/mine");
    const auto& other = outcome(row, "all/all");
    CHECK_FALSE(other.ok);
    REQUIRE(other.reasons.size() == 1);
    CHECK(other.reasons[0].code == Code::Algorithm);
    CHECK(other.reasons[0].field == "algorithm");
    CHECK(other.reasons[0].got == "custom:adafactor");
    CHECK(other.nearest == "algorithm adamw instead of custom:adafactor");
}

TEST_CASE("what all know is asked of all, whoever brings something of its own") {
    const auto row = resolve(use(OptimizerRequest{}, {"mine"}), optimizers_found(), test_host());
    REQUIRE(row.chosen.has_value());
    CHECK(full_name(*row.chosen) == "mine/mine");
}

TEST_CASE("a component that was named for an algorithm that another one brings is refused by its key") {
    resolver::ResolveOptions options;
    options.written_at = [](std::string_view key) {
        return key == "optimizer.algorithm" ? std::string("job.toml:3:1") : std::string();
    };
    const auto row = custom_row("shampoo", {"all"}, options);
    CHECK_FALSE(row.chosen.has_value());
    CHECK_THAT(row.error, contains("\"all\" does not serve this optimizer"));
    CHECK_THAT(row.error, contains("algorithm custom:shampoo"));
    CHECK_THAT(row.error, contains("optimizer.algorithm (job.toml:3:1)"));
    CHECK_THAT(row.error, contains("it is served by: mine/mine"));
}

TEST_CASE("a name that nobody brings is told with its key, the nearest one and all that there are") {
    resolver::ResolveOptions options;
    options.written_at = [](std::string_view key) { return "job.toml:3:1 " + std::string(key); };
    CHECK(custom_row("adafacter", {"auto"}, options).error ==
          "optimizer.algorithm = \"custom:adafacter\" (job.toml:3:1 optimizer.algorithm): none of the "
          "plugins found brings that algorithm; did you mean \"custom:adafactor\"? There are: "
          "custom:adafactor (mine/mine), custom:shampoo (mine/mine)");
    CHECK(custom_row("zzz").error ==
          "optimizer.algorithm = \"custom:zzz\": none of the plugins found brings that algorithm; there are: "
          "custom:adafactor (mine/mine), custom:shampoo (mine/mine)");
    CHECK(custom_row("zzz", {"auto"}, {}, {candidate<OptimizerRequest>("all/all", 1)}).error ==
          "optimizer.algorithm = \"custom:zzz\": none of the plugins found brings that algorithm, nor any "
          "other "
          "of its own; see `switchyard plugins doctor` and plugins.paths");
}

TEST_CASE("an activation and a loss that one component brings are asked of it alone, by their own keys") {
    auto own = candidate<ActivationRequest>("mine/mine", 5);
    own.manifest.custom = {"mish"};
    const std::vector<resolver::Candidate> activations{candidate<ActivationRequest>("all/all", 50), own};
    ActivationRequest activation;
    activation.activation = ActivationKind::custom;
    activation.custom = "mish";
    const auto row = resolve(use(activation, {"auto"}), activations, test_host());
    REQUIRE(row.chosen.has_value());
    CHECK(full_name(*row.chosen) == "mine/mine");
    const auto& other = outcome(row, "all/all");
    CHECK(other.reasons[0].field == "activation");
    CHECK(other.reasons[0].expected == "activation without custom:, since it brings none of its own");
    CHECK(other.nearest == "activation gelu_erf instead of custom:mish");
    CHECK_THAT(resolver::in_words(Kind::activation, activation), contains(", activation custom:mish"));
    CHECK(resolver::not_measured_because(Kind::activation, activation) ==
          "a custom activation is not measured");
    activation.custom = "mishh";
    CHECK(
        resolve(use(activation, {"auto"}), activations, test_host()).error ==
        "model.activation = \"custom:mishh\": none of the plugins found brings that activation; did you mean "
        "\"custom:mish\"? There are: custom:mish (mine/mine)");
    LossRequest loss;
    loss.loss = LossKind::custom;
    loss.custom = "focal";
    CHECK(
        resolve(use(loss, {"auto"}), {candidate<LossRequest>("all/all", 50)}, test_host()).error ==
        "loss.function = \"custom:focal\": none of the plugins found brings that loss, nor any other of its "
        "own; see `switchyard plugins doctor` and plugins.paths");
    CHECK(resolver::not_measured_because(Kind::loss, loss) == "a loss of custom is not measured");
}

TEST_CASE("a plugin that cannot be used is what its algorithm's name means, and its gate is told") {
    auto candidates = optimizers_found();
    candidates[1] = unusable(candidates[1], "crashed");
    const auto row = custom_row("adafactor", {"auto"}, {}, candidates);
    CHECK_FALSE(row.chosen.has_value());
    CHECK_THAT(row.error, contains("mine/mine: ") && contains("crashed"));
}

TEST_CASE("a request for a custom algorithm is described by it, compared by it, and not measured") {
    const auto one = request_for("adafactor"), other = request_for("shampoo");
    CHECK_THAT(resolver::in_words(Kind::optimizer, one), contains(", algorithm custom:adafactor"));
    CHECK_THAT(resolver::in_words(Kind::optimizer, one), !contains("custom adafactor"));
    CHECK_FALSE(resolver::equal(Kind::optimizer, one, other));
    CHECK(resolver::not_measured_because(Kind::optimizer, one) == "a custom algorithm is not measured");
    CHECK_THAT(resolver::in_words(Kind::optimizer, OptimizerRequest{}), !contains("custom"));
}
