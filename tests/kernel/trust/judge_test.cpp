// What each demand refuses, and with which reason; and what it asks nothing of. To add a case: change what
// lies there between two judgements.
#include "core/kernel/trust/judge.h"

#include <filesystem>

#include "core/kernel/trust/own_plugin.h"
#include "trust_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using config::Demand;
using loader::Verification;

namespace {

struct Judged {
    loader::GateOutcome gate;
    loader::PluginRecord record;

    const loader::ComponentTrust& of(Kind kind, const std::string& id) const {
        const auto* const trust = record.trust_of(kind, id);
        REQUIRE(trust != nullptr);
        return *trust;
    }
};

Judged judged(const PluginCopy& plugin, trust::Demands demands) {
    demands.keys = trusting("a");
    auto record = plugin.record();
    auto gate = trust::judge(demands, record);
    return {std::move(gate), std::move(record)};
}

trust::Demands demanding(std::vector<Demand> require, const std::string& cache = "") {
    trust::Demands demands;
    demands.require = std::move(require);
    demands.cache = cache;
    return demands;
}

trust::ConformanceRecord record_of(const PluginCopy& plugin, bool passed = true) {
    const auto record = plugin.record();
    trust::ConformanceRecord made{
        "test_good", "1.2.3", trust::content_of(plugin.library()), trust::host_version(), {}};
    for (const auto& component : record.manifest->components)
        made.components.push_back({component.kind, component.id, Device::cpu, passed, 10, 5, passed ? 0 : 1,
                                   3, passed ? "" : "wrong_output in x: y"});
    return made;
}

}  // namespace

TEST_CASE("without demands every plugin passes, and whether it was verified is known") {
    const PluginCopy plugin("free");
    const auto all = judged(plugin, demanding({}));
    CHECK(all.gate.passed);
    CHECK(all.record.trust.size() == all.record.manifest->components.size());
    const auto& one = all.of(Kind::activation, "by_autograd");
    CHECK(one.verification == Verification::unverified);
    CHECK_FALSE(one.refusal.has_value());
}

TEST_CASE("signed: refused without a signature of a trusted key, and nothing of it is judged further") {
    const PluginCopy plugin("signed");
    const auto bad = judged(plugin, demanding({Demand::signature}));
    CHECK_FALSE(bad.gate.passed);
    CHECK(bad.gate.gate == loader::Gate::trust);
    CHECK(bad.gate.reason == "it is not signed");
    CHECK(bad.record.trust.empty());
    sign(plugin, key_of('b'));
    CHECK_THAT(judged(plugin, demanding({Demand::signature})).gate.reason,
               contains("a key that you do not trust"));
    sign(plugin, key_of('a'));
    CHECK(judged(plugin, demanding({Demand::signature})).gate.passed);
}

TEST_CASE("conformant: each component for itself, by a record of this content") {
    const auto cache = temporary_dir("cache").string();
    const PluginCopy plugin("conformant");
    const auto demands = demanding({Demand::conformance}, cache);
    const auto before = judged(plugin, demands);
    CHECK(before.gate.passed);  // the plugin; its components are not
    const auto& refused = before.of(Kind::activation, "rough");
    REQUIRE(refused.refusal.has_value());
    CHECK(refused.refusal->reason == "no run of conformance is known for activation rough on cpu");
    CHECK_THAT(refused.refusal->hint,
               contains("`switchyard plugins verify " + plugin.library() + "` runs it"));

    auto record = record_of(plugin);
    record.components[0].passed = false;
    record.components[0].failed = 1;
    record.components[0].fault = "wrong_output in x: y";
    REQUIRE_FALSE(trust::RecordCache(cache).store(record).has_value());
    const auto after = judged(plugin, demands);
    CHECK_FALSE(after.of(Kind::activation, "rough").refusal.has_value());
    CHECK(after.of(Kind::activation, "rough").verification == Verification::passed);
    const auto& faulty = after.of(record.components[0].kind, record.components[0].id);
    REQUIRE(faulty.refusal.has_value());
    CHECK_THAT(faulty.refusal->reason, contains("found a fault in it: wrong_output in x: y"));
    CHECK(faulty.verification == Verification::unverified);
    const auto repetition = [&](const loader::ComponentTrust& trust) {
        return "`switchyard plugins verify " + plugin.library() + " --component " +
               std::string(name(trust.kind)) + "/" + trust.id + " --seed 3";
    };
    CHECK(faulty.refusal->hint == repetition(faulty) + "` repeats it");
    // A run of fewer cases could pass, and the fault would stay.
    record.components[0].drawn = 1000;
    REQUIRE_FALSE(trust::RecordCache(cache).store(record).has_value());
    const auto drawn = judged(plugin, demands);
    const auto& of_many = drawn.of(faulty.kind, faulty.id);
    REQUIRE(of_many.refusal.has_value());
    CHECK(of_many.refusal->hint == repetition(of_many) + " --drawn 1000` repeats it");

    auto on_cuda = demands;
    on_cuda.device = Device::cuda;
    const auto elsewhere = judged(plugin, on_cuda).of(Kind::activation, "rough");
    REQUIRE(elsewhere.refusal.has_value());
    CHECK_THAT(elsewhere.refusal->hint, contains(" --device cuda`"));

    flip_bit(plugin.library(), 48);  // unused in a library's header
    CHECK(judged(plugin, demands).of(Kind::activation, "rough").refusal.has_value());
}

TEST_CASE("conformant: a record that is shipped counts if a trusted key signed it with the plugin") {
    const PluginCopy plugin("shipped");
    const auto demands = demanding({Demand::conformance});
    const auto why = [&] {
        const auto all = judged(plugin, demands);
        const auto& one = all.of(Kind::activation, "rough");
        return one.refusal ? one.refusal->reason : std::string();
    };
    const auto file = trust::shipped_record_of(plugin.library());
    write_file(file, to_json_text(record_of(plugin)));
    CHECK_THAT(why(), contains("the record beside it does not count: it is not signed"));
    sign(plugin, key_of('a'));
    CHECK(why().empty());
    CHECK(judged(plugin, demands).of(Kind::activation, "rough").verification == Verification::passed);
    write_file(file, read_file(file) + " ");
    CHECK_THAT(why(), contains("the signature covers another one"));
    auto older = record_of(plugin);
    older.host = "Switchyard 0.0.1, LibTorch 1.0.0";
    write_file(file, to_json_text(older));
    sign(plugin, key_of('a'));
    CHECK_THAT(why(),
               contains("it was made by Switchyard 0.0.1, LibTorch 1.0.0, this is " + trust::host_version()));
    auto other = record_of(plugin);
    other.content.library = "0123";
    write_file(file, to_json_text(other));
    sign(plugin, key_of('a'));
    CHECK_THAT(why(), contains("it is one of another content of the library"));
    write_file(file, "damaged");
    sign(plugin, key_of('a'));
    CHECK_THAT(why(), contains("error: "));
    write_file(file, to_json_text(record_of(plugin)));
    sign(plugin, key_of('b'));
    CHECK_THAT(why(), contains("a key that you do not trust"));
    write_file(file, to_json_text(record_of(plugin, false)));
    sign(plugin, key_of('a'));
    CHECK_THAT(why(), contains("found a fault in it"));
}

TEST_CASE("conformant: a record that is shipped counts for what was not run here") {
    const auto cache = temporary_dir("cache").string();
    const PluginCopy plugin("both");
    auto demands = demanding({Demand::conformance}, cache);
    demands.keys = trusting("a");
    const auto whole = record_of(plugin);
    auto shipped = whole;
    auto& used = shipped.components.emplace_back(whole.components[1]);
    used.use = "one use";
    shipped.components.push_back(used);
    shipped.components.back().use = "another use";
    write_file(trust::shipped_record_of(plugin.library()), to_json_text(shipped));
    sign(plugin, key_of('a'));
    auto own = whole;
    own.components = {whole.components[0], whole.components[1]};
    own.components[0].passed = false;
    own.components[0].failed = 1;
    own.components[1].use = "one use";
    own.components[1].passed = false;
    own.components[1].failed = 1;
    REQUIRE_FALSE(trust::RecordCache(cache).store(own).has_value());
    const auto all = judged(plugin, demands);
    for (const auto& component : whole.components) {
        const bool faulty = component.kind == whole.components[0].kind &&
                            component.id == whole.components[0].id;  // what was found here comes first
        INFO(component.id);
        CHECK(all.of(component.kind, component.id).refusal.has_value() == faulty);
    }
    const auto& uses = all.of(whole.components[1].kind, whole.components[1].id).uses;
    REQUIRE(uses.size() == 2);
    CHECK(uses[0].use == "one use");
    CHECK_FALSE(uses[0].passed);
    CHECK(uses[1].use == "another use");
    CHECK(uses[1].passed);
    CHECK_THAT(trust::standing_of(demands, plugin.record()), contains("verified on cpu: 4 of 5 components"));
}

TEST_CASE("locked: only as it stands in the lock") {
    const PluginCopy plugin("locked");
    auto demands = demanding({Demand::lock});
    demands.lock = std::make_shared<const trust::PluginLock>(
        trust::PluginLock{{trust::locked_as(plugin.record())}, "plugins.lock"});
    CHECK(judged(plugin, demands).gate.passed);
    flip_bit(plugin.library(), 48);
    CHECK(judged(plugin, demands).gate.reason == "its content is not what is locked in plugins.lock");
    demands.lock = std::make_shared<const trust::PluginLock>(trust::PluginLock{{}, "plugins.lock"});
    CHECK(judged(plugin, demands).gate.reason == "it is not in the lock of plugins");
}

TEST_CASE("several demands are all to be met") {
    const auto cache = temporary_dir("cache").string();
    const PluginCopy plugin("all");
    const auto demands = demanding({Demand::signature, Demand::conformance}, cache);
    REQUIRE_FALSE(trust::RecordCache(cache).store(record_of(plugin)).has_value());
    CHECK_FALSE(judged(plugin, demands).gate.passed);
    sign(plugin, key_of('a'));
    const auto all = judged(plugin, demands);
    CHECK(all.gate.passed);
    CHECK_FALSE(all.of(Kind::activation, "rough").refusal.has_value());
}

TEST_CASE("what is known of a plugin is told in one line") {
    const auto cache = temporary_dir("cache").string();
    const PluginCopy plugin("standing");
    auto demands = demanding({}, cache);
    demands.keys = trusting("a");
    CHECK(trust::standing_of(demands, plugin.record()) == "it is not signed; unverified");
    sign(plugin, key_of('a'));
    auto record = record_of(plugin);
    record.components.pop_back();
    REQUIRE_FALSE(trust::RecordCache(cache).store(record).has_value());
    CHECK(trust::standing_of(demands, plugin.record()) == "signed by " +
                                                              trust::fingerprint(key_of('a').public_key()) +
                                                              " (a.pub); verified on cpu: 4 of 5 components");
}
