// What is remembered of earlier probes, and what makes it forgotten.
#include <cstdlib>

#include "core/kernel/loader/probe/probe_cache.h"
#include "core/kernel/machine/program_paths.h"

#include "fixture.h"
#include "nested_json.h"
#include "sanitized.h"
#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::test;

namespace {

namespace fs = std::filesystem;

// A copy of the good plugin with a cache of its own.
struct Place {
    std::string folder = temporary_dir("cache");
    std::string plugin = folder + "/libx.so";
    std::string cache = folder + "/cache";
    Place() { write_file(plugin, read_file(good_plugin())); }

    PluginRecord find(bool ignore_cache = false) const {
        DiscoveryOptions options = only({plugin}, cache);
        options.ignore_cache = ignore_cache;
        return discover(options, this_host(Look::cpu_only)).at(0);
    }
    bool measurement_cache() const { return find().probe->from_cache; }
    std::string only_file() const { return fs::directory_iterator(cache + "/probes")->path(); }
};

}  // namespace

TEST_CASE("a second look starts no probe, and says the same") {
    const Place place;
    const PluginRecord first = place.find();
    const PluginRecord second = place.find();
    REQUIRE(first.probe.has_value());
    CHECK_FALSE(first.probe->from_cache);
    CHECK(second.probe->from_cache);
    CHECK(to_json(*first.probe) == to_json(*second.probe));
    CHECK(first.content_hash == second.content_hash);
    CHECK(place.find(true).probe->from_cache == false);
}

TEST_CASE("a failure is remembered, too") {
    if (thread_sanitized) return skip("thread sanitizer reports exit() within dlopen()");
    const Place place;
    write_file(place.plugin, read_file(bad_plugin("exits_at_load")));
    CHECK_FALSE(place.find().usable());
    const PluginRecord second = place.find();
    CHECK(second.probe->from_cache);
    CHECK(second.failure()->reason == "in load: ended the process with exit code 3");
}

TEST_CASE("a file that was only touched is remembered, one that has changed is not") {
    const Place place;
    place.find();
    fs::last_write_time(place.plugin, fs::last_write_time(place.plugin) + std::chrono::seconds(5));
    CHECK(place.measurement_cache());
    write_file(place.plugin, changed(place.plugin, "\"version\":\"1.2.3\"", "\"version\":\"1.2.4\""));
    const PluginRecord newer = place.find();
    CHECK_FALSE(newer.probe->from_cache);
    CHECK(newer.usable());
    CHECK(newer.manifest->version == "1.2.4");
}

TEST_CASE("a library that is another one when its probe ends is not remembered by what the probe said") {
    const Place place;
    const ProbeCache cache(place.cache);
    const auto key_now = [&] { return CacheKey{place.plugin, "some host"}; };
    CacheKey key = key_now(), again = key_now(), newer = key_now(), newest = key_now();
    CHECK_FALSE(cache.find(key).has_value());
    cache.store(key, {});
    CHECK(cache.find(again).has_value());
    write_file(place.folder + "/new",
               changed(place.plugin, "\"version\":\"1.2.3\"", "\"version\":\"1.2.4\""));
    fs::rename(place.folder + "/new", place.plugin);
    cache.store(key, {});
    CHECK_FALSE(cache.find(newer).has_value());
    CHECK(newer.content != key.content);
    cache.store(newer, {});
    CHECK(cache.find(newest).has_value());
}

TEST_CASE("a second library beside it that appears or changes makes it be probed again") {
    const Place place;
    place.find();
    write_file(place.folder + "/libx_cuda.so", "one");
    CHECK_FALSE(place.measurement_cache());
    CHECK(place.measurement_cache());
    fs::remove(place.folder + "/libx_cuda.so");
    CHECK_FALSE(place.measurement_cache());
}

TEST_CASE("a damaged or foreign cache is ignored and written again") {
    const Place place;
    place.find();
    const std::string file = place.only_file();
    for (const std::string content : {"", "{", "[]", "{\"format\":1}", "{\"format\":99}", "\xff\xfe"}) {
        write_file(file, content);
        CHECK_FALSE(place.measurement_cache());
        CHECK(place.measurement_cache());
    }
    const std::string good = read_file(file);
    for (std::size_t size = 0; size < good.size(); size += good.size() / 7) {
        write_file(file, good.substr(0, size));
        CHECK_FALSE(place.measurement_cache());
    }
}

TEST_CASE("a cache that nests deeper than JSON may is ignored and written again") {
    const Place place;
    place.find();
    const std::string file = place.only_file();
    write_file(file, nested(read_file(file), 0));
    CHECK(place.measurement_cache());
    write_file(file, nested(read_file(file), 1));
    CHECK_FALSE(place.measurement_cache());
    CHECK(place.measurement_cache());
}

TEST_CASE("without a place for a cache everything works") {
    const Place place;
    write_file(place.cache, "a file where a folder should be");
    CHECK(place.find().usable());
    CHECK(place.find().usable());
    DiscoveryOptions options = only({place.plugin}, "");
    CHECK(discover(options, this_host(Look::cpu_only)).at(0).usable());
}

TEST_CASE("the usual place follows the environment") {
    const std::string before = std::getenv("XDG_CACHE_HOME");
    ::setenv("SWITCHYARD_CACHE", "/a", 1);
    CHECK(standard_cache_folder() == "/a");
    ::unsetenv("SWITCHYARD_CACHE");
    ::setenv("XDG_CACHE_HOME", "/b", 1);
    CHECK(standard_cache_folder() == "/b/switchyard");
    ::unsetenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string old_home = home == nullptr ? "" : home;
    ::setenv("HOME", "/c", 1);
    CHECK(standard_cache_folder() == "/c/.cache/switchyard");
    ::unsetenv("HOME");
    CHECK(standard_cache_folder().empty());
    if (home != nullptr) ::setenv("HOME", old_home.c_str(), 1);
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
}

TEST_CASE("the usual place is never in whatever folder one works in") {
    const Variable named("SWITCHYARD_CACHE", "mine");
    CHECK(standard_cache_folder() == (fs::current_path() / "mine").string());
    const Variable none("SWITCHYARD_CACHE", "");
    const Variable relative("XDG_CACHE_HOME", "relative");
    const Variable home("HOME", "/c");
    CHECK(standard_cache_folder() == "/c/.cache/switchyard");
    const Variable no_home("HOME", "relative");
    CHECK(standard_cache_folder().empty());
}

TEST_CASE("known plugins are listed without a single probe") {
    const std::string folder = temporary_dir("many");
    const std::string cache = folder + "/cache";
    fs::create_directory(folder + "/plugins");
    // Several names, so that none is a duplicate.
    for (int i = 10; i < 16; ++i) {
        const std::string name = "test_g" + std::to_string(i) + "x";
        write_file(folder + "/plugins/lib" + name + ".so",
                   changed(good_plugin(), "\"name\":\"test_good\"", "\"name\":\"" + name + "\""));
    }
    const DiscoveryOptions options = only({folder + "/plugins"}, cache);
    const HostInfo host = this_host(Look::cpu_only);
    REQUIRE(discover(options, host).size() == 6);
    for (const PluginRecord& record : discover(options, host)) CHECK(record.probe->from_cache);
}
