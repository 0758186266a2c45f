// The fingerprint: its text, and a sentence for each key that differs. To add a key: a row in "each
// difference".
#include "core/kernel/loader/fingerprint.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;

namespace {

const std::string text =
    "libtorch=2.11.0\nlibtorch_cpu_build_id=aa\nlibc10_build_id=bb\ncxx11_abi=1\nglibcxx_debug=0\nsanitizers="
    "none\nabi_major=1\n"
    "layout=0123\nlayout_attention=4567\nlayout_loss=89ab\ncompiler=gcc 12.2.0\n";

std::vector<Mismatch> with(const std::string& key, const std::string& value) {
    Fingerprint plugin = parse_fingerprint(text).value();
    plugin[key] = value;
    return compare(parse_fingerprint(text).value(), plugin, {Kind::attention});
}

}  // namespace

TEST_CASE("equal fingerprints fit, whatever the compiler") {
    CHECK(compare(parse_fingerprint(text).value(), parse_fingerprint(text).value(), {}).empty());
    CHECK(with("compiler", "clang 17.0.0").empty());
    CHECK(with("something_new", "1").empty());
}

TEST_CASE("each difference is told in plain words") {
    struct Row {
        const char *key, *value, *reason, *hint;
    };
    const Row rows[] = {
        {"libtorch", "2.10.0", "built with LibTorch 2.10.0, this program has 2.11.0",
         "rebuild it with LibTorch 2.11.0"},
        {"libtorch_cpu_build_id", "cc",
         "built with another build of LibTorch 2.11.0: its libtorch_cpu.so is not the one that this program "
         "loads",
         "rebuild it with the LibTorch of this program"},
        {"libc10_build_id", "cc",
         "built with another build of LibTorch 2.11.0: its libc10.so is not the one that this program loads",
         "rebuild it with the LibTorch of this program"},
        {"cxx11_abi", "0", "built with _GLIBCXX_USE_CXX11_ABI=0, this program with 1",
         "rebuild it with this program's SDK"},
        {"glibcxx_debug", "1",
         "built with _GLIBCXX_DEBUG, this program without it: containers have other sizes",
         "rebuild it with this program's SDK"},
        {"sanitizers", "address", "built with sanitizers: address, this program with: none",
         "rebuild it without, or start this program with the sanitizer: "
         "LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0"},
        {"sanitizers", "thread", "built with sanitizers: thread, this program with: none",
         "rebuild it with this program's SDK"},
        {"abi_major", "2", "built for version 2 of Switchyard's plugin interface, this program has 1",
         "rebuild it with this program's SDK"},
        {"layout", "9999",
         "built with headers of Switchyard whose structures are laid out otherwise than this program's",
         "rebuild it with this program's SDK"},
        {"layout_attention", "9999",
         "built with headers of Switchyard in which the contract of attention is laid out otherwise than in "
         "this program's",
         "rebuild it with this program's SDK"},
    };
    for (const Row& row : rows) {
        const auto mismatches = with(row.key, row.value);
        REQUIRE(mismatches.size() == 1);
        CHECK(mismatches[0].key == row.key);
        CHECK(mismatches[0].reason == row.reason);
        CHECK(mismatches[0].hint == row.hint);
        CHECK(mismatches[0].got == row.value);
    }
}

TEST_CASE("another release of LibTorch is told once, not by its build ids again") {
    Fingerprint plugin = parse_fingerprint(text).value();
    for (const char* const key : {"libtorch", "libtorch_cpu_build_id", "libc10_build_id"})
        plugin[key] = "other";
    const auto mismatches = compare(parse_fingerprint(text).value(), plugin, {Kind::attention});
    REQUIRE(mismatches.size() == 1);
    CHECK(mismatches[0].reason == "built with LibTorch other, this program has 2.11.0");
}

TEST_CASE("a plugin with the address sanitizer fits where the sanitizer runs, one with another does not") {
    auto host = parse_fingerprint(text).value();
    host.emplace(sanitizer_runs, "yes");
    auto plugin = parse_fingerprint(text).value();
    CHECK(compare(host, plugin, {}).empty());
    plugin["sanitizers"] = "address";
    CHECK(compare(host, plugin, {}).empty());
    plugin["sanitizers"] = "thread";
    CHECK(compare(host, plugin, {}).size() == 1);
}

TEST_CASE("of layouts, those of the plugin's kinds count: another kind's contract may have changed") {
    const auto host = parse_fingerprint(text).value();
    auto plugin = host;
    plugin["layout_loss"] = "9999";
    CHECK(compare(host, plugin, {Kind::attention}).empty());
    CHECK(compare(host, plugin, {Kind::attention, Kind::loss}).size() == 1);
    plugin.erase("layout_loss");  // it was built before there was this kind
    CHECK(compare(host, plugin, {Kind::attention}).empty());
}

TEST_CASE("a key that a plugin lacks is a difference") {
    Fingerprint plugin = parse_fingerprint(text).value();
    plugin.erase("layout");
    const auto mismatches = compare(parse_fingerprint(text).value(), plugin, {Kind::attention});
    REQUIRE(mismatches.size() == 1);
    CHECK(mismatches[0].got == "nothing");
}

TEST_CASE("lines that are not key=value, and keys that come twice, are no fingerprint") {
    CHECK_FALSE(parse_fingerprint("libtorch\n").has_value());
    CHECK_FALSE(parse_fingerprint("=1\n").has_value());
    CHECK_FALSE(parse_fingerprint("a=1\na=2\n").has_value());
    CHECK(parse_fingerprint("").value().empty());
    CHECK(parse_fingerprint("a=b=c").value().at("a") == "b=c");
}
