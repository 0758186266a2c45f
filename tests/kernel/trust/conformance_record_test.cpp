// What is remembered of runs of conformance, for which content and host, and what replaces what.
#include "core/kernel/trust/conformance_record.h"

#include <filesystem>
#include <thread>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/trust/own_plugin.h"
#include "trust_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

trust::ComponentOutcome outcome(bool passed, std::uint64_t seed = 1, std::int64_t drawn = 50) {
    trust::ComponentOutcome one;
    one.kind = Kind::activation;
    one.id = "by_autograd";
    one.passed = passed;
    one.cases = 100;
    one.drawn = drawn;
    one.failed = passed ? 0 : 3;
    one.seed = seed;
    one.fault = passed ? "" : "wrong_output in a: b";
    return one;
}

trust::ConformanceRecord known_record(const std::string& sha = "0123") {
    return {"test_good", "1.2.3", {sha, ""}, trust::host_version(), {outcome(true)}};
}

}  // namespace

TEST_CASE("a record that is written is read again, and what is none is refused by its file") {
    auto record = known_record();
    record.content.cuda = "4567";
    record.components.push_back(outcome(false, 7));
    record.components.back().device = Device::cuda;
    const auto text = to_json_text(record);
    const auto again = trust::read_record(text, "r.json");
    CHECK(to_json_text(again) == text);
    REQUIRE(again.find(Kind::activation, "by_autograd", Device::cuda) != nullptr);
    CHECK(again.find(Kind::activation, "by_autograd", Device::cuda)->seed == 7);
    CHECK(again.find(Kind::activation, "other", Device::cpu) == nullptr);
    for (const std::string& wrong : {std::string(), std::string("{}"), std::string("[1]"),
                                     text.substr(0, 100), std::string("{\"switchyard_conformance\": 2}")}) {
        INFO(wrong);
        CHECK_THROWS_AS(trust::read_record(wrong, "r.json"), base::InputError);
    }
}

TEST_CASE("a record that says passed although no case ran, or one failed, is not believed") {
    auto record = known_record();
    record.components[0].cases = 0;
    CHECK_FALSE(trust::read_record(to_json_text(record), "r").components[0].passed);
    record.components[0].cases = 5;
    record.components[0].failed = 1;
    CHECK_FALSE(trust::read_record(to_json_text(record), "r").components[0].passed);
}

TEST_CASE("a fault is remembered until the same cases pass") {
    auto record = known_record();
    add_outcome(record, outcome(false, 5));
    CHECK_FALSE(record.components[0].passed);
    add_outcome(record, outcome(true, 6));  // other cases
    CHECK_FALSE(record.components[0].passed);
    add_outcome(record, outcome(true, 5, 20));  // fewer
    CHECK_FALSE(record.components[0].passed);
    add_outcome(record, outcome(false, 6));  // nor does a fault of other cases take its place
    add_outcome(record, outcome(true, 6));
    CHECK_FALSE(record.components[0].passed);
    add_outcome(record, outcome(false, 5, 0));
    add_outcome(record, outcome(true, 5, 20));
    CHECK_FALSE(record.components[0].passed);
    CHECK(record.components[0].seed == 5);
    CHECK(record.components[0].drawn == 50);
    add_outcome(record, outcome(true, 5));
    CHECK(record.components[0].passed);
    auto other = outcome(true, 9);
    other.id = "rough";
    add_outcome(record, other);
    CHECK(record.components.size() == 2);
}

TEST_CASE("what several runs find at the same time is remembered of all of them") {
    const trust::RecordCache cache(temporary_dir("cache").string());
    constexpr int runs = 4, each = 5;
    std::vector<std::thread> threads;
    for (int run = 0; run < runs; ++run) {
        threads.emplace_back([&cache, run] {
            for (int i = 0; i < each; ++i) {
                auto found = known_record();
                found.components[0].id = "of_" + std::to_string(run) + "_" + std::to_string(i);
                (void)cache.add(found);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    const auto record = cache.find({"0123", ""});
    REQUIRE(record.has_value());
    CHECK(record->components.size() == runs * each);
    CHECK(record->name == "test_good");

    // Nor does a run that passes clear the fault that another one found meanwhile.
    auto faulty = known_record();
    faulty.components = {outcome(false, 5)};
    CHECK_FALSE(cache.add(faulty).has_value());
    CHECK_FALSE(cache.add(known_record()).has_value());
    CHECK_FALSE(cache.find({"0123", ""})->find(Kind::activation, "by_autograd", Device::cpu)->passed);
    CHECK(trust::RecordCache("").add(faulty).has_value());
}

TEST_CASE("a record takes from another one of its content and host what it has not itself") {
    auto record = known_record();
    auto other = known_record();
    other.components = {outcome(false, 5), outcome(true, 5)};
    other.components[1].device = Device::cuda;
    auto elsewhere = other;
    elsewhere.host = "Switchyard 0.0.1, LibTorch 1.0.0";
    CHECK(add_missing(record, elsewhere) == 0);
    elsewhere = other;
    elsewhere.content.cuda = "4567";
    CHECK(add_missing(record, elsewhere) == 0);
    CHECK(add_missing(record, other) == 1);
    REQUIRE(record.components.size() == 2);
    CHECK(record.components[0].passed);
    CHECK(record.components[1].device == Device::cuda);
    CHECK(add_missing(record, other) == 0);
}

TEST_CASE("the cache remembers by content and host, and takes what is damaged for nothing") {
    const auto folder = temporary_dir("cache").string();
    const trust::RecordCache cache(folder);
    CHECK_FALSE(cache.find({"0123", ""}).has_value());
    CHECK_FALSE(cache.store(known_record()).has_value());
    REQUIRE(cache.find({"0123", ""}).has_value());
    CHECK_FALSE(cache.find({"0124", ""}).has_value());
    CHECK_FALSE(cache.find({"0123", "cuda"}).has_value());
    CHECK_FALSE(cache.find({"", ""}).has_value());
    auto older = known_record("89");
    older.host = "Switchyard 0.0.1, LibTorch 1.0.0";
    CHECK_FALSE(cache.store(older).has_value());
    CHECK_FALSE(cache.find({"89", ""}).has_value());
    for (const auto& entry : fs::directory_iterator(folder + "/conformance"))
        write_file(entry.path(), "damaged");
    CHECK_FALSE(cache.find({"0123", ""}).has_value());
    CHECK_FALSE(trust::RecordCache("").find({"0123", ""}).has_value());
    CHECK(trust::RecordCache("").store(known_record()).has_value());
    write_file(folder + "/file", "");
    CHECK(trust::RecordCache(folder + "/file").store(known_record()).has_value());
}
