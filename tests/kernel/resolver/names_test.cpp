// What "[plugin/]component[@variant]" means, and what is said when it means nothing. To add a case: extend
// `installed`.
#include "fakes.h"

#include "core/kernel/resolver/names.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<resolver::Candidate> installed_ones() {
    auto sdpa = candidate<AttentionRequest>("torch/torch", 50);
    sdpa.manifest.variants = {"math", "flash", "efficient"};
    return {candidate<AttentionRequest>("naive/naive", 10), sdpa,
            candidate<AttentionRequest>("a/flash", 60),     candidate<AttentionRequest>("b/flash", 70),
            candidate<AttentionRequest>("b/split", 20),     candidate<LossRequest>("lossy/lossy", 1)};
}

std::string error(const std::string& text) {
    return find_named(Kind::attention, text, installed_ones()).error;
}

std::string found(const std::string& text) {
    const auto candidates = installed_ones();
    const auto named = find_named(Kind::attention, text, candidates);
    return named.candidate == nullptr ? "" : named.candidate->full_name() + "@" + named.variant;
}

}  // namespace

TEST_CASE("a bare name, a plugin's name before it and a variant after it are all understood") {
    CHECK(found("naive") == "naive/naive@");
    CHECK(found("naive/naive") == "naive/naive@");
    CHECK(found("torch@flash") == "torch/torch@flash");
    CHECK(found("torch/torch@math") == "torch/torch@math");
    CHECK(found("b/flash") == "b/flash@");
}

TEST_CASE("a bare name that fits several plugins lists them") {
    CHECK(error("flash") == "\"flash\" fits a/flash and b/flash: write one of them");
    const auto row = resolve(use(attention_request(), {"flash"}), installed_ones(), test_host());
    CHECK(row.error == "attention.backend = \"flash\" fits a/flash and b/flash: write one of them");
}

TEST_CASE(
    "an unusable plugin does not make a name ambiguous, and is what the name means if nothing else is") {
    auto candidates = installed_ones();
    candidates[2] = unusable(candidates[2], "crashed");
    CHECK(find_named(Kind::attention, "flash", candidates).candidate->full_name() == "b/flash");
    candidates[3] = unusable(candidates[3], "crashed");
    candidates.erase(candidates.begin() + 2);
    CHECK(find_named(Kind::attention, "flash", candidates).candidate->full_name() == "b/flash");
}

TEST_CASE("an unknown name gets the nearest one, and all that there are") {
    CHECK(error("navie") ==
          "there is no attention called \"navie\"; did you mean \"naive\"? There are: a/flash, b/flash, "
          "naive, split, torch");
    CHECK(error("zzz") ==
          "there is no attention called \"zzz\"; there are: a/flash, b/flash, naive, split, torch");
    CHECK(error("lossy").starts_with("there is no attention called \"lossy\""));
    CHECK(error("nave/naive")
              .starts_with("there is no attention called \"nave/naive\"; did you mean \"naive/naive\"?"));
}

TEST_CASE("a plugin's name instead of its component's gets what the plugin has") {
    CHECK(error("b") == "there is no attention called \"b\"; that plugin has b/flash, b/split");
    CHECK(error("b/flush") == "there is no attention called \"b/flush\"; that plugin has b/flash, b/split");
}

TEST_CASE("an unknown variant gets the nearest one, and all that there are") {
    CHECK(error("torch@flsh") ==
          "torch/torch has no variant \"flsh\"; did you mean \"flash\"? It has: math, flash, efficient");
    CHECK(error("torch@zzz") == "torch/torch has no variant \"zzz\"; it has: math, flash, efficient");
    CHECK(error("naive@zzz") == "naive/naive has no variant \"zzz\": it has none");
}

TEST_CASE("no component of the kind at all says where to look") {
    CHECK(find_named(Kind::precision, "fp32", installed_ones()).error ==
          "none of the plugins found has a component for precision; see `switchyard plugins doctor`");
}

TEST_CASE("a component is shown by its id where that is enough") {
    const auto candidates = installed_ones();
    CHECK(short_name(candidates[0], candidates) == "naive");
    CHECK(short_name(candidates[2], candidates) == "a/flash");
}
