// Records of conformance: plugins verify remembers them, plugins.require = "conformant" asks for them,
// --report ships them; and what was not verified is said to be so.
#include "signed_job.h"

#include "json_schema.h"

#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words conformant{"plugins.require=conformant"};

Words verify(const SignedJob& one, const Words& more = {}) {
    return with({"plugins", "verify", one.library, "--component", "activation/by_autograd", "--seed", "5"},
                more);
}

std::string verification_of(const nlohmann::json& plan) {
    for (const auto& slot : plan.at("slots")) {
        if (slot.at("slot") == "activation") return slot.at("chosen").at("verification");
    }
    return "no activation";
}

}  // namespace

TEST_CASE("conformant: refused until verify passed whole, and again after a change") {
    const SignedJob one;
    const auto words = one.with_plugin({"plan", one.job.file("job.toml")}, conformant);
    const Words told{"no run of conformance is known for activation by_autograd on cpu",
                     "`switchyard plugins verify " + one.library + "` runs it"};
    check_refused(run(words, one.options), told);
    // Parts of it prove nothing.
    CHECK(run(verify(one, {"--dtype", "float32"}), one.options).code == 0);
    CHECK(run(verify(one, {"--drawn", "3"}), one.options).code == 0);
    CHECK(run(verify(one, {"--filter", "/drawn/"}), one.options).code == 0);
    check_refused(run(words, one.options), told);
    const auto verified = run(verify(one), one.options);
    INFO(verified.out << verified.err);
    REQUIRE(verified.code == 0);
    const auto planned = run_json(words, 0, one.options);
    CHECK(verification_of(planned) == "passed");
    CHECK(schema_faults("plan.json", planned) == no_faults);
    CHECK(run(words, one.options).out.find("\nunverified: ") == std::string::npos);
    one.change_library();
    check_refused(run(words, one.options), told);
}

TEST_CASE("what was not verified is said to be so, in one line of the plan and in the run's page") {
    const SignedJob one;
    const auto job = one.job.file("job.toml");
    const auto plan = run(one.with_plugin({"plan", job}), one.options);
    CHECK(plan.code == 0);
    CHECK_THAT(plan.out, contains("\nunverified: test_good/by_autograd; `switchyard plugins verify` "));
    CHECK(run({"plan", job}, one.options).out.find("\nunverified: ") == std::string::npos);
    const auto folder = one.job.file("run");
    const auto trained =
        run(one.with_plugin({"train", job, "--run", folder}, {"train.steps=1"}), one.options);
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    CHECK_THAT(trained.err, contains("\nunverified: test_good/by_autograd; `switchyard plugins verify` "));
    CHECK(verification_of(json_of(folder + "/plan.json")) == "unverified");
    REQUIRE(run({"report", folder}, one.options).code == 0);
    CHECK_THAT(bytes_of(folder + "/report.html"), contains("Unverified, as no run of"));
}

TEST_CASE("what a configuration uses of a plugin is verified for that use alone, and for its content") {
    const SignedJob one;
    const auto job = one.job.file("job.toml");
    const auto plan = [&](const Words& more = {}) {
        return run(one.with_plugin({"plan", job}, more), one.options).out;
    };
    const auto verify_use = [&](const Words& more) {
        const auto verified = run(
            with(one.with_plugin({"plugins", "verify", "test_good", "--config", job, "--seed", "5"}), more),
            one.options);
        INFO(verified.out << verified.err);
        REQUIRE(verified.code == 0);
    };
    CHECK_THAT(plan(), contains("\nunverified: test_good/by_autograd"));
    // Parts of it prove nothing.
    verify_use({"--drawn", "1"});
    CHECK_THAT(plan(), contains("\nunverified: test_good/by_autograd"));
    verify_use({});
    CHECK(plan().find("\nunverified: ") == std::string::npos);
    const auto planned = run_json(one.with_plugin({"plan", job}), 0, one.options);
    CHECK(verification_of(planned) == "passed_use");
    CHECK(schema_faults("plan.json", planned) == no_faults);
    // Another size is another use, and who demands all that a plugin claims gets no less.
    CHECK_THAT(plan({"batch.size=3"}), contains("\nunverified: test_good/by_autograd"));
    check_refused(run(one.with_plugin({"plan", job}, conformant), one.options),
                  {"no run of conformance is known for activation by_autograd on cpu"});
    one.change_library();
    CHECK_THAT(plan(), contains("\nunverified: test_good/by_autograd"));
}

TEST_CASE("a record is shipped beside the library, signed with it, and believed by whoever trusts the key") {
    const SignedJob one;
    const auto report = one.library + ".conformance.json";
    const auto verified = run(verify(one, {"--report", report}), one.options);
    INFO(verified.out << verified.err);
    REQUIRE(verified.code == 0);
    CHECK_THAT(verified.out, contains("the record of it is in " + report));
    const auto record = json_of(report);
    CHECK(schema_faults("conformance.json", record) == no_faults);
    CHECK(record.at("name") == "test_good");
    CHECK(record.at("components").at(0).at("seed") == 5);
    CHECK(record.at("components").at(0).at("outcome") == "passed");
    one.trust_key();
    one.sign();
    CHECK(schema_faults("plugin_signature.json", json_of(one.signature)) == no_faults);
    // Another user, who has verified nothing.
    auto options = one.options;
    options.environment["SWITCHYARD_CACHE"] = temporary_dir("cache").string();
    const auto words = one.with_plugin({"plan", one.job.file("job.toml")}, conformant);
    const auto planned = run(words, options);
    INFO(planned.err);
    CHECK(planned.code == 0);
    const auto doctor = run({"plugins", "doctor"}, options);
    CHECK_THAT(doctor.out, contains("  trust: signed by SHA256:"));
    CHECK_THAT(doctor.out, contains("(test.pub); verified on cpu: 1 of 5 components"));
    CHECK_THAT(doctor.out, contains("  trust: comes with this program"));
    fs::remove(one.signature);
    check_refused(run(words, options), {"the record beside it does not count: it is not signed"});
    // Who verifies another component adds to the file, although their cache does not know the first.
    const auto more = run({"plugins", "verify", one.library, "--component", "activation/rough", "--seed", "5",
                           "--report", report},
                          options);
    INFO(more.out << more.err);
    REQUIRE(more.code == 0);
    CHECK_THAT(more.out, contains("is in " + report + ", with 1 outcome that it had before; beside"));
    const auto both = json_of(report);
    CHECK(schema_faults("conformance.json", both) == no_faults);
    REQUIRE(both.at("components").size() == 2);
    CHECK(both.at("components").at(0).at("id") == "rough");
    CHECK(both.at("components").at(1) == record.at("components").at(0));
}

TEST_CASE("a fault that was found before Ctrl-C is remembered") {
    const auto folder = temporary_dir("stopped");
    const auto out = (folder / "out").string();
    RunOptions options{{{"SWITCHYARD_CACHE", (folder / "cache").string()}}};
    std::ofstream(out) << "";
    options.in_child = [&out] { ::dup2(::open(out.c_str(), O_WRONLY), STDOUT_FILENO); };
    Started started(
        {"plugins", "verify", (build_dir() / "tests/support/plugins/errs/libtest_errs.so").string(),
         "--component", "attention", "--filter", "/causal/shape/", "--drawn", "0", "--seed", "5"},
        options);
    REQUIRE(wait_until([&] {
        return started.ended() || bytes_of(out).find("attention test_errs/unmasked: ") != std::string::npos;
    }));
    started.send(SIGINT);  // while the next component begins; had it ended already, all would be remembered
    const auto outcome = started.wait();
    INFO(outcome.err << bytes_of(out));
    CHECK((outcome.code == 130 || outcome.code == 5));
    const auto records = files_below(folder / "cache/conformance");
    for (const auto& [file, text] : records) {
        if (!file.ends_with(".json")) continue;
        const auto found = nlohmann::json::parse(text).at("components").at(0);
        CHECK(found.at("id") == "unmasked");
        CHECK(found.at("outcome") == "failed");
        CHECK(found.at("seed") == 5);
    }
    CHECK(records.size() == 2);  // with the lock
}

TEST_CASE("a report is one of a whole run of one plugin") {
    const SignedJob one;
    const auto file = one.job.file("record.json");
    check_refused(run(verify(one, {"--report", file, "--dtype", "float32"}), one.options),
                  {"--report: --dtype leaves dtypes out; expected a run of all that the plugin claims"});
    check_refused(run(verify(one, {"--report", file, "--filter", "x"}), one.options),
                  {"--filter leaves cases out"});
    check_refused(run(verify(one, {"--report", file, "--drawn", "1"}), one.options), {"--drawn is below 50"});
    check_refused(run({"plugins", "verify", "--report", file}, one.options), {"--report: is of one plugin"});
    CHECK_FALSE(fs::exists(file));
}
