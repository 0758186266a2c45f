// What a lock of plugins holds, that it is the same each time, and what it refuses.
#include "core/kernel/trust/plugin_lock.h"

#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "trust_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

std::string lock_refusal(const std::string& text) {
    try {
        trust::parse_lock(text, "plugins.lock");
    } catch (const base::InputError& error) {
        return error.what();
    }
    return "";
}

trust::LockedPlugin plugin(const std::string& name) { return {name, "1.0.0", {"aa", ""}, "1.0", "bb"}; }

}  // namespace

TEST_CASE("a lock is sorted, has no place in it, and comes back") {
    trust::PluginLock lock{{plugin("torch"), plugin("naive")}, "anywhere"};
    lock.plugins[0].content.cuda = "cc";
    lock.plugins[1].version = "1.0 \"quoted\"\n";
    const auto text = to_toml(lock);
    CHECK(text.find("naive") < text.find("torch"));
    CHECK(text.find("anywhere") == std::string::npos);
    const auto again = trust::parse_lock(text, "plugins.lock");
    CHECK(to_toml(again) == text);
    REQUIRE(again.find("torch") != nullptr);
    CHECK(again.find("torch")->content == trust::PluginContent{"aa", "cc"});
    CHECK(again.find("naive")->version == "1.0 \"quoted\"\n");
    CHECK(again.find("none") == nullptr);
    std::swap(lock.plugins[0], lock.plugins[1]);
    CHECK(to_toml(lock) == text);
    CHECK(trust::parse_lock(to_toml(trust::PluginLock()), "x").plugins.empty());
}

TEST_CASE("what is no lock is refused with its line") {
    CHECK_THAT(lock_refusal(""),
               contains("plugins.lock:1:1: error: it is no lock of plugins; expected a file that "
                        "`switchyard plugins lock` wrote"));
    CHECK_THAT(lock_refusal("{\"switchyard_plan\": 1}"), contains("plugins.lock:1:"));
    CHECK_THAT(lock_refusal("switchyard_plugins_lock = 2"),
               contains("plugins.lock:1:1: error: switchyard_plugins_lock: "));
    const std::string begin = "switchyard_plugins_lock = 1\n[[plugin]]\nname = \"a\"\n";
    CHECK_THAT(lock_refusal(begin), contains("a plugin has no version"));
    CHECK_THAT(lock_refusal(begin), contains("a plugin has no sha256"));
    CHECK_THAT(lock_refusal(begin + "sha265 = \"x\"\n"),
               contains("plugins.lock:4:1: error: sha265: is no key"));
    CHECK_THAT(lock_refusal(begin + "version = 1\n"),
               contains("plugins.lock:4:1: error: version: got the integer 1"));
    trust::PluginLock twice{{plugin("a"), plugin("a")}, ""};
    CHECK_THAT(lock_refusal(to_toml(twice)), contains("\"a\" is locked twice"));
    CHECK_THAT(lock_refusal(std::string(5000, '[')), contains("plugins.lock:1:"));
    CHECK_THROWS_AS(trust::read_lock((temporary_dir("lock") / "none").string()), base::InputError);
    CHECK_THROWS_AS(trust::read_lock(temporary_dir("lock").string()), base::InputError);
}

TEST_CASE("a plugin is as it was locked, or the lock says in what it differs") {
    const PluginCopy copy("locked");
    const auto record = copy.record();
    trust::PluginLock lock{{trust::locked_as(record)}, "/job/plugins.lock"};
    CHECK(lock.plugins[0].content.library == trust::sha256_of_file(copy.library()));
    CHECK_THAT(lock.plugins[0].layout, Catch::StartsWith(record.manifest->fingerprint.at("layout") + ", "));
    for (const std::string kind : {"attention", "activation", "data_loader"})  // what the plugin has
        CHECK_THAT(lock.plugins[0].layout,
                   test::contains(kind + " " + record.manifest->fingerprint.at("layout_" + kind)));
    CHECK_FALSE(difference(lock, record).has_value());
    CHECK(differences(lock, {record}).empty());

    const PluginCopy elsewhere("elsewhere");
    CHECK_FALSE(difference(lock, elsewhere.record()).has_value());

    flip_bit(copy.library(), 48);
    const auto changed = difference(lock, record);
    REQUIRE(changed.has_value());
    CHECK_FALSE(changed->passed);
    CHECK(changed->gate == loader::Gate::trust);
    CHECK(changed->reason == "its content is not what is locked in /job/plugins.lock");
    CHECK(changed->expected == "sha256:" + lock.plugins[0].content.library);
    CHECK(changed->got == "sha256:" + trust::sha256_of_file(copy.library()));
    const auto lines = differences(lock, {record});
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], contains("test_good: locked 1.2.3, sha256:" + lock.plugins[0].content.library +
                                  "; now "
                                  "1.2.3, sha256:" +
                                  trust::sha256_of_file(copy.library())));

    lock.plugins[0].version = "1.2.2";
    CHECK(difference(lock, record)->expected == "test_good 1.2.2");
    lock.plugins[0].name = "another";
    CHECK(difference(lock, record)->reason == "it is not in the lock of plugins");
    CHECK_THAT(differences(lock, {record}).at(0), contains("there is no plugin of that name now"));
}

TEST_CASE("a library for CUDA belongs to what is locked") {
    const PluginCopy copy("cuda");
    const trust::PluginLock lock{{trust::locked_as(copy.record())}, "plugins.lock"};
    write_file(trust::cuda_part_of(copy.library()), "kernels");
    CHECK_THAT(difference(lock, copy.record())->got, contains(" and, for CUDA, sha256:"));
}
