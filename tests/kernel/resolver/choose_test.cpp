// Who is chosen for a use, and what is said about everybody else. To add a case: a candidate is
// candidate<RequestType>("plugin/component", priority, rule); the rule rejects what it does not serve.
#include "fakes.h"

#include "core/kernel/resolver/resolver.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const Rule<AttentionRequest> multiples_of_8 = [](const AttentionRequest& r, Verdict& v) {
    if (!r.head_dim.all_multiples_of(8)) v.reject(Code::HeadDim, "head_dim", "a multiple of 8", r.head_dim);
};
const Rule<AttentionRequest> no_dropout = [](const AttentionRequest& r, Verdict& v) {
    if (r.dropout > 0) v.reject(Code::Dropout, "dropout", "0", r.dropout, "set model.attention_dropout = 0");
};

std::vector<resolver::Candidate> three() {
    return {candidate<AttentionRequest>("naive/naive", 10), candidate<AttentionRequest>("torch/torch", 50),
            candidate<AttentionRequest>("flash/flash", 90, multiples_of_8)};
}

}  // namespace

TEST_CASE("a name chooses that component and says of the others that they were not asked for") {
    const auto row = resolve(use(attention_request(), {"torch"}), three(), test_host());
    REQUIRE(row.chosen);
    CHECK(row.chosen->plugin == "torch");
    CHECK(row.chosen->component == "torch");
    CHECK(row.chosen->variant.empty());
    CHECK(row.chosen->library_path == "/plugins/libtorch.so");
    CHECK(row.how == "named");
    CHECK(row.error.empty());
    REQUIRE(row.candidates.size() == 3);
    CHECK(row.candidates[0].component == "torch");
    CHECK(row.candidates[0].why_not.empty());
    CHECK(row.candidates[1].component == "flash");
    CHECK(row.candidates[1].ok);
    CHECK(row.candidates[1].why_not == "not asked for");
    CHECK(row.candidates[2].why_not == "not asked for");
}

TEST_CASE(
    "a named component that does not serve the request is an error with all reasons, and nothing replaces "
    "it") {
    auto request = attention_request(60);
    request.dropout = 0.1;
    const auto both = [](const AttentionRequest& r, Verdict& v) { multiples_of_8(r, v), no_dropout(r, v); };
    auto candidates = three();
    candidates.push_back(candidate<AttentionRequest>("tiled/tiled", 80, both));
    const auto row = resolve(use(request, {"tiled"}), candidates, test_host());
    CHECK_FALSE(row.chosen);
    CHECK(row.error ==
          "\"tiled\" does not serve this attention\n"
          "    asked for: float32 on cpu, padded, train, needs_grad, batch 1..8, heads 12, kv_heads 12, "
          "q_length 1..512, kv_length 1..512, head_dim 60, v_head_dim 60, dropout 0.1\n"
          "    tiled/tiled: head_dim: expected a multiple of 8, got 60\n"
          "    tiled/tiled: dropout: expected 0, got 0.1 (set model.attention_dropout = 0)\n"
          "    tiled/tiled would serve: head_dim 64 instead of 60; dropout 0 instead of 0.1\n"
          "    as it is, it is served by: torch/torch, naive/naive");
    CHECK(outcome(row, "tiled/tiled").reasons.size() == 2);
    CHECK(outcome(row, "flash/flash").nearest == "head_dim 64 instead of 60");
    CHECK(outcome(row, "torch/torch").why_not == "not asked for");
}

TEST_CASE("a list takes the first that serves the request") {
    const auto list = std::vector<std::string>{"flash", "torch", "naive"};
    auto row = resolve(use(attention_request(64), list), three(), test_host());
    CHECK(row.chosen->component == "flash");
    CHECK(row.how == "choice 1 of 3 listed");
    CHECK(outcome(row, "torch/torch").why_not == "listed later");

    row = resolve(use(attention_request(60), list), three(), test_host());
    CHECK(row.chosen->component == "torch");
    CHECK(row.how == "choice 2 of 3 listed");
    CHECK(row.candidates[0].component == "torch");
    CHECK(outcome(row, "flash/flash").reasons.at(0).field == "head_dim");
    CHECK(outcome(row, "naive/naive").why_not == "listed later");
}

TEST_CASE("a list of which none serves the request names every reason") {
    const auto row =
        resolve(use(attention_request(60), {"flash", "b/flash"}),
                {candidate<AttentionRequest>("b/flash", 5, multiples_of_8), three()[2]}, test_host());
    CHECK_FALSE(row.chosen);
    CHECK_THAT(row.error,
               contains("attention.backend = \"flash\" fits b/flash and flash/flash: write one of them"));
    const auto exact =
        resolve(use(attention_request(60), {"flash/flash", "b/flash"}),
                {candidate<AttentionRequest>("b/flash", 5, multiples_of_8), three()[2]}, test_host());
    CHECK_THAT(exact.error, contains("none of \"flash/flash\", \"b/flash\" serves this attention"));
    CHECK_THAT(exact.error, contains("flash/flash: head_dim: expected a multiple of 8, got 60"));
    CHECK_THAT(exact.error, contains("b/flash: head_dim: expected a multiple of 8, got 60"));
    CHECK_THAT(exact.error, contains("no other component serves it either"));
}

TEST_CASE("auto takes the highest priority that serves the request") {
    auto row = resolve(use(attention_request(64), {"auto"}), three(), test_host());
    CHECK(row.chosen->component == "flash");
    CHECK(row.how == "auto: by priority");
    CHECK(outcome(row, "torch/torch").why_not == "lower priority (50, chosen: 90)");

    row = resolve(use(attention_request(60), {"auto"}), three(), test_host());
    CHECK(row.chosen->component == "torch");
    CHECK_FALSE(outcome(row, "flash/flash").ok);
    CHECK(outcome(row, "flash/flash").nearest == "head_dim 64 instead of 60");
    CHECK(outcome(row, "naive/naive").why_not == "lower priority (10, chosen: 50)");
}

TEST_CASE("of equal priorities auto takes the first by name, whatever the order of discovery") {
    const auto a = candidate<AttentionRequest>("a/x", 10), b = candidate<AttentionRequest>("b/x", 10);
    CHECK(resolve(use(attention_request(), {"auto"}), {a, b}, test_host()).chosen->plugin == "a");
    const auto row = resolve(use(attention_request(), {"auto"}), {b, a}, test_host());
    CHECK(row.chosen->plugin == "a");
    CHECK(outcome(row, "b/x").why_not == "equal priority (10, chosen: 10), later by name");
}

TEST_CASE("auto that nobody serves is an error with everybody's reasons") {
    const auto row = resolve(use(attention_request(60), {"auto"}), {three()[2]}, test_host());
    CHECK(row.error.starts_with("no component serves this attention\n    asked for: "));
    CHECK_THAT(row.error, contains("flash/flash: head_dim: expected a multiple of 8, got 60"));
    CHECK_THAT(row.error, contains("flash/flash would serve: head_dim 64 instead of 60"));
}

TEST_CASE("auto without any component of the kind says where to look") {
    const auto row = resolve(use(attention_request(), {"auto"}), {}, test_host());
    CHECK(row.error ==
          "none of the plugins found has a component for attention; see `switchyard plugins doctor`");
}

TEST_CASE("a chooser decides for auto among those that serve the request") {
    resolver::ResolveOptions options;
    options.chooser = [](const resolver::SlotUse&,
                         const std::vector<const resolver::Candidate*>& conformant) {
        REQUIRE(conformant.size() == 2);
        return resolver::Choice{0, "auto: measured"};
    };
    const auto row = resolve(use(attention_request(60), {"auto"}), three(), test_host(), options);
    CHECK(row.chosen->component == "naive");
    CHECK(row.how == "auto: measured");
    CHECK(outcome(row, "torch/torch").why_not == "not chosen (priority 50, chosen: 10)");
}

TEST_CASE("auto never takes a component of reduced accuracy unless the slot allows it") {
    auto fast = candidate<AttentionRequest>("fast/fast", 99);
    fast.manifest.accuracy = Accuracy::reduced;
    fast.manifest.accuracy_bound = 0.02;
    auto candidates = three();
    candidates.push_back(fast);

    auto automatic = use(attention_request(), {"auto"});
    auto row = resolve(automatic, candidates, test_host());
    CHECK(row.chosen->component == "flash");
    const auto& refused = outcome(row, "fast/fast");
    REQUIRE(refused.reasons.size() == 1);
    CHECK(name(refused.reasons[0].code) == "accuracy");
    CHECK(refused.reasons[0].hint ==
          "its accuracy is reduced: write its name, or attention.allow_reduced = true");
    CHECK(refused.nearest == "allow_reduced on");

    automatic.config.allow_reduced = true;
    CHECK(resolve(automatic, candidates, test_host()).chosen->component == "fast");

    row = resolve(use(attention_request(), {"fast"}), candidates, test_host());
    REQUIRE(row.chosen);
    CHECK(row.chosen->accuracy == Accuracy::reduced);
    CHECK(row.chosen->accuracy_bound == 0.02);
    CHECK(row.chosen->request->allow_reduced);
}

TEST_CASE("a plugin that failed a gate is refused with the gate's reason") {
    auto candidates = three();
    candidates[1] = unusable(candidates[1], "built with LibTorch 2.10.0, this program has 2.11.0");
    const auto row = resolve(use(attention_request(), {"torch"}), candidates, test_host());
    CHECK_FALSE(row.chosen);
    CHECK_THAT(
        row.error,
        contains("torch/torch: plugin: built with LibTorch 2.10.0, this program has 2.11.0 (rebuild it)"));
    CHECK_FALSE(outcome(row, "torch/torch").nearest);
    CHECK(resolve(use(attention_request(60), {"auto"}), candidates, test_host()).chosen->component ==
          "naive");
}

TEST_CASE("options are the schema's defaults with what the slot has for the component") {
    auto chunked = candidate<AttentionRequest>("chunked/chunked", 5);
    chunked.manifest.options = {{"chunk_size", ValueType::integer, std::int64_t{256}, {}, ""},
                                {"exact", ValueType::boolean, true, {}, ""}};
    auto asked = use(attention_request(), {"chunked"});
    asked.config.options["chunked"].set("chunk_size", std::int64_t{64});
    asked.config.options["other"].set("exact", false);
    auto row = resolve(asked, {chunked}, test_host());
    CHECK(row.chosen->options.integer("chunk_size") == 64);
    CHECK(row.chosen->options.boolean("exact"));
    asked.config.options["chunked/chunked"].set("chunk_size", std::int64_t{32});
    CHECK(resolve(asked, {chunked}, test_host()).chosen->options.integer("chunk_size") == 32);
}

TEST_CASE("supports is asked with the use's host, the component's options and the variant") {
    auto asked = use(attention_request(), {"x@fast"});
    auto probe = candidate<AttentionRequest>("x/x", 5);
    probe.manifest.variants = {"fast", "slow"};
    probe.supports = [](const Request&, const HostInfo& where, const Options&, const std::string& variant) {
        Verdict verdict;
        if (where.name != "test host") verdict.reject(Code::Internal, "host", "test host", where.name);
        if (variant != "fast") verdict.reject(Code::Variant, "variant", "fast", variant);
        return verdict;
    };
    auto row = resolve(asked, {probe}, test_host());
    CHECK(row.chosen->variant == "fast");
    asked.config.backend = {"x@slow"};
    row = resolve(asked, {probe}, test_host());
    CHECK_FALSE(row.chosen);
    CHECK(outcome(row, "x/x").nearest == "variant fast instead of slow");
}

TEST_CASE("without explanations only what was named is asked") {
    int asked = 0;
    auto other =
        candidate<AttentionRequest>("other/other", 1, [&](const AttentionRequest&, Verdict&) { ++asked; });
    resolver::ResolveOptions options;
    options.explain = false;
    auto candidates = three();
    candidates.push_back(other);
    const auto row = resolve(use(attention_request(), {"naive"}), candidates, test_host(), options);
    CHECK(row.chosen->component == "naive");
    CHECK(row.candidates.size() == 1);
    CHECK(asked == 0);
}

TEST_CASE("a plan finds its rows by slot, phase and layer") {
    auto first = use(attention_request(), {"naive"});
    auto whole = use(attention_request(), {"torch"});
    whole.layer_ids.clear();
    const auto plan = resolve({first, whole}, three(), test_host());
    CHECK(plan.ok());
    const config::LayerId inside{config::Stack::encoder, 5}, outside{config::Stack::encoder, 6};
    REQUIRE(plan.find("attention", Phase::train, &inside) != nullptr);
    CHECK(plan.find("attention", Phase::train, &inside)->chosen->component == "naive");
    CHECK(plan.find("attention", Phase::train)->chosen->component == "torch");
    CHECK(plan.find("attention", Phase::train, &outside) == nullptr);
    CHECK(plan.find("attention", Phase::eval, &inside) == nullptr);
    CHECK(plan.find("loss", Phase::train) == nullptr);
}
