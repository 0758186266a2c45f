// [plugins] require: what is refused, where the reason is told, and that what comes along needs no signature.
#include "signed_job.h"

#include "json_schema.h"

#include <algorithm>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const std::string require_signed = "plugins.require=signed";

nlohmann::json plugin_in(const nlohmann::json& doctor, const std::string& name) {
    for (const auto& each : doctor.at("plugins")) {
        if (each.at("name") == name) return each;
    }
    throw std::runtime_error("no plugin " + name);
}

}  // namespace

TEST_CASE("signed: an unsigned plugin is refused by plan, train and doctor, and its code does not run") {
    const SignedJob one;
    const auto job = one.job.file("job.toml");
    const auto words = one.with_plugin({"plan", job}, {require_signed});
    check_refused(run(words, one.options),
                  {"activation.backend: \"by_autograd\" does not serve this activation", "it is not signed",
                   "`switchyard plugins sign` writes libtest_good.so.sig beside it"});
    check_refused(
        run(one.with_plugin({"train", job, "--run", one.job.file("run")}, {require_signed}), one.options),
        {"it is not signed"});
    CHECK_FALSE(fs::exists(one.job.file("run")));
    // As a candidate that nobody named it has the reason, too.
    const auto plan = run_json({"plan", job, "--set", require_signed}, 0, one.options);
    CHECK(schema_faults("plan.json", plan) == no_faults);
    bool told = false;
    for (const auto& slot : plan.at("slots")) {
        CHECK(slot.at("chosen").at("verification") == "own");
        for (const auto& candidate : slot.at("candidates")) {
            if (candidate.at("plugin") != "test_good") continue;
            CHECK(candidate.at("ok") == false);
            CHECK(candidate.at("reasons").at(0).at("field") == "gate trust");
            told = true;
        }
    }
    CHECK(told);
    one.job.write("strict.toml", bytes_of(job) + "\n[plugins]\nrequire = [\"signed\"]\n");
    const auto doctor = run_json({"plugins", "doctor", one.job.file("strict.toml")}, 1, one.options);
    CHECK(schema_faults("plugins_doctor.json", doctor) == no_faults);
    const auto refused = plugin_in(doctor, "test_good");
    CHECK(refused.at("gate") == "trust");
    CHECK(refused.at("reason") == "it is not signed");
    CHECK(refused.at("probe").is_null());
    CHECK(plugin_in(doctor, "torch").at("usable") == true);
    check_refused(run(one.with_plugin({"config", "check", one.job.file("strict.toml")}), one.options),
                  {"it is not signed"});
}

TEST_CASE("signed: what a trusted key signed is used, until it is changed") {
    const SignedJob one;
    one.trust_key();
    one.sign();
    const auto words = one.with_plugin({"train", one.job.file("job.toml"), "--run", one.job.file("run")},
                                       {require_signed, "train.steps=1"});
    const auto trained = run(words, one.options);
    INFO(trained.err);
    CHECK(trained.code == 0);
    one.change_library();
    check_refused(run(one.with_plugin({"plan", one.job.file("job.toml")}, {require_signed}), one.options),
                  {"its library was changed after it was signed", "expected sha256:", "got"});
}

TEST_CASE("signed: keys that the configuration names are trusted, if it did not come with a run") {
    const SignedJob one;
    one.sign();
    one.job.write("keys.toml", bytes_of(one.job.file("job.toml")) +
                                   "\n[plugins]\nrequire = \"signed\"\ntrusted_keys = [\"" + one.key +
                                   ".pub\"]\n");
    const auto words = one.with_plugin({"train", one.job.file("keys.toml"), "--run", one.job.file("run")},
                                       {"train.steps=1"});
    const auto trained = run(words, one.options);
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    const Words foreign{"plan", one.job.file("run/config.toml")};
    check_refused(run(foreign, one.options),
                  {"plugins.trusted_keys: who trusts", "came with a run", "--trust"});
    CHECK(run(with(foreign, {"--trust"}), one.options).code == 0);
    one.trust_key();
    CHECK(run(foreign, one.options).code == 0);
    const auto missing =
        run({"plan", one.job.file("job.toml"), "--set", "plugins.trusted_keys=[\"/none.pub\"]"}, one.options);
    check_refused(missing, {"--set #1: error: plugins.trusted_keys: /none.pub: there is no such file"});
}

TEST_CASE("a demand that there is not is a mistake in the configuration") {
    const SignedJob one;
    check_refused(
        run({"plan", one.job.file("job.toml"), "--set", "plugins.require=singed"}, one.options),
        {"plugins.require: got the string \"singed\"; expected one or a list of \"signed\", \"conformant\", "
         "\"locked\"; did you mean \"signed\"?"});
    check_refused(run({"plan", one.job.file("job.toml"), "--set", "plugins.require=[\"signed\", \"signed\"]"},
                      one.options),
                  {"each name once"});
}
