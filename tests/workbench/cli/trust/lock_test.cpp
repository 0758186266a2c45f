// switchyard plugins lock, --locked of train, compare and plan, and plugins.require = "locked".
#include "signed_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

Words locked_plugins(const std::string& file) {
    Words names;
    const auto text = bytes_of(file);
    const std::string key = "\nname = \"";
    for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const auto begin = at + key.size();
        names.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
    return names;
}

}  // namespace

TEST_CASE("the lock has the plugins of the plan, sorted, and is the same each time") {
    const SignedJob one;
    const auto lock = one.job.file("plugins.lock");
    const auto words = one.with_plugin({"plugins", "lock", one.job.file("job.toml")});
    const auto made = run(words, one.options);
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK_THAT(made.out, contains("2 plugins locked in " + lock + ": test_good 1.2.3, torch "));
    CHECK(locked_plugins(lock) == Words{"test_good", "torch"});
    const auto text = bytes_of(lock);
    CHECK_THAT(text, contains("switchyard_plugins_lock = 1\n"));
    CHECK(text.find(fs::path(one.library).parent_path().string()) == std::string::npos);
    REQUIRE(run(words, one.options).code == 0);
    CHECK(bytes_of(lock) == text);
    const auto all = one.job.file("all.lock");
    REQUIRE(run({"plugins", "lock", "--output", all}, one.options).code == 0);
    const auto names = locked_plugins(all);
    CHECK(std::is_sorted(names.begin(), names.end()));
    for (const auto* name : {"naive", "test_good", "torch"})
        CHECK(std::count(names.begin(), names.end(), name) == 1);
}

TEST_CASE("--locked runs what was locked, and refuses what differs before anything runs") {
    const SignedJob one;
    const auto job = one.job.file("job.toml"), lock = one.job.file("plugins.lock");
    const auto plan = one.with_plugin({"plan", job, "--locked"});
    check_refused(run(plan, one.options),
                  {lock + ": error: there is no such file; expected a lock of plugins, which "
                          "`switchyard plugins lock` writes"});
    REQUIRE(run(one.with_plugin({"plugins", "lock", job}), one.options).code == 0);
    CHECK(run(plan, one.options).code == 0);
    const auto run_folder = one.job.file("run");
    const auto train = one.with_plugin({"train", job, "--run", run_folder, "--locked"}, {"train.steps=1"});
    const auto trained = run(train, one.options);
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    fs::remove_all(run_folder);
    // A plugin that is not in the lock.
    check_refused(run(with(plan, {"--set", "attention.backend=naive"}), one.options),
                  {"it is not in the lock of plugins", "`switchyard plugins lock` writes the file again"});
    const auto before = bytes_of(lock);
    one.change_library();
    const Words told{lock + ": error: --locked: 1 plugin differs from the lock",
                     "test_good: locked 1.2.3, sha256:", "; now 1.2.3, sha256:",
                     "put back what was locked; or, if the change is wanted"};
    check_refused(run(train, one.options), told);
    CHECK_FALSE(fs::exists(run_folder));
    check_refused(run(plan, one.options), told);
    check_refused(run(one.with_plugin({"compare", job, "--locked", "--vary", "attention.backend=naive,torch",
                                       "--time", "1"}),
                      one.options),
                  told);
    CHECK(bytes_of(lock) == before);
    fs::remove(one.library);
    check_refused(run({"plan", job, "--locked"}, one.options), {"there is no plugin of that name now"});
}

TEST_CASE("compare --locked compares arms of locked plugins") {
    const SignedJob one;
    const auto job = one.job.file("job.toml");
    REQUIRE(run({"plugins", "lock", "--output", one.job.file("plugins.lock")}, one.options).code == 0);
    const auto compared = run({"compare", job, "--locked", "--vary", "attention.backend=naive,torch",
                               "--blocks", "2", "--steps-per-block", "1", "--rounds", "1"},
                              one.options);
    INFO(compared.err);
    CHECK((compared.code == 0 || compared.code == 4));
    CHECK_THAT(compared.out, contains("naive"));
}

TEST_CASE("locked in the configuration: the reason is one of the resolver's, and the lock is where it says") {
    const SignedJob one;
    const auto job = one.job.file("job.toml"), elsewhere = one.job.file("elsewhere.lock");
    const Words sets{"plugins.require=locked", "plugins.lock=" + elsewhere};
    check_refused(run(one.with_plugin({"plan", job}, sets), one.options),
                  {"error: plugins.lock: " + elsewhere + ": there is no such file"});
    // The lock is not demanded while it is written.
    const auto made = run(one.with_plugin({"plugins", "lock", job}, sets), one.options);
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK(locked_plugins(elsewhere) == Words{"test_good", "torch"});
    CHECK(run(one.with_plugin({"plan", job}, sets), one.options).code == 0);
    one.change_library();
    check_refused(run(one.with_plugin({"plan", job}, sets), one.options),
                  {"does not serve this activation", "its content is not what is locked in " + elsewhere,
                   "expected sha256:"});
    one.job.write("elsewhere.lock", "switchyard_plugins_lock = 1\nplugin = 3\n");
    check_refused(run(one.with_plugin({"plan", job}, sets), one.options), {elsewhere + ":2:1", "plugin"});
    check_refused(run({"plugins", "lock", "--set", "a.b=1"}, one.options), {"expected CONFIG before it"});
}
