// Which file the loader would take, and what is said when there is none. To add a place where it looks: a case that puts a library there.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <switchyard/host/discovery/library_search.h>

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard::host;
using namespace switchyard::test;

namespace {

void append(std::string& to, std::uint32_t number) {
    char bytes[4];
    std::memcpy(bytes, &number, sizeof(bytes));
    to.append(bytes, sizeof(bytes));
}

// A loader cache with one library for each (flags, name, file).
std::string cache_with(const std::vector<std::tuple<std::uint32_t, std::string, std::string>>& libraries) {
    const std::size_t strings_at = 48 + libraries.size() * 24;
    std::string entries, strings;
    for (const auto& [flags, name, file] : libraries) {
        append(entries, flags);
        append(entries, static_cast<std::uint32_t>(strings_at + strings.size()));
        strings += name + '\0';
        append(entries, static_cast<std::uint32_t>(strings_at + strings.size()));
        strings += file + '\0';
        for (int i = 0; i < 3; ++i) append(entries, 0);
    }
    std::string header = "glibc-ld.so.cache1.1";
    append(header, static_cast<std::uint32_t>(libraries.size()));
    append(header, static_cast<std::uint32_t>(strings.size()));
    header.resize(48, '\0');
    return header + entries + strings;
}

}  // namespace

TEST_CASE("the probe program's libraries are found the loader's way") {
    const LibrarySearch search(probe_program());
    CHECK(search.program_problems().empty());
    CHECK_THAT(search.loaded("libtorch_cpu.so"), contains("/lib/libtorch_cpu.so"));
    CHECK_THAT(search.loaded("libc.so.6"), contains("/libc.so.6"));
    // libtorch_cpu.so finds it by an RPATH of its own, relative to where it lies.
    CHECK_THAT(search.loaded("libcudart.so.13"), contains("libcudart.so.13"));
    CHECK(search.loaded("libnobody.so").empty());
}

TEST_CASE("what the loader finds is what is found here") {
    const LibrarySearch search(probe_program());
    const Ran ran = run("ldd '" + probe_program() + "'");
    if (ran.exit_code != 0) return skip("ldd is not there");
    for (const std::string name :
         {"libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libc.so.6", "libgomp.so.1"}) {
        const auto at = ran.output.find(name + " => ");
        REQUIRE(at != std::string::npos);
        const auto begin = at + name.size() + 4;
        const std::string loader = ran.output.substr(begin, ran.output.find(' ', begin) - begin);
        CHECK(std::filesystem::equivalent(search.loaded(name), loader));
    }
}

TEST_CASE("a missing library is named, and found once LD_LIBRARY_PATH has its folder") {
    const std::string plugin = bad_plugin("lacks_library");
    LibrarySearch search(probe_program());
    const LibraryCheck check = search.check(plugin, read_elf(plugin).image);
    REQUIRE(check.problems.size() == 1);
    CHECK(check.problems[0].reason == "needs libtest_lacking.so, which was not found");
    CHECK(check.problems[0].hint == "install it, or put its folder into LD_LIBRARY_PATH");

    const std::string folder = build_dir() / "tests/plugins/elsewhere";
    ::setenv("LD_LIBRARY_PATH", ("/nonexistent:" + folder).c_str(), 1);
    const LibraryCheck with_folder = LibrarySearch(probe_program()).check(plugin, read_elf(plugin).image);
    ::unsetenv("LD_LIBRARY_PATH");
    CHECK(with_folder.problems.empty());
    CHECK(with_folder.files == std::vector<std::string>{folder + "/libtest_lacking.so"});
}

TEST_CASE("a version that this system's libraries do not have is told with the highest that they have") {
    ElfImage image = read_elf(good_plugin()).image;
    image.version_needs.push_back({"libstdc++.so.6", "GLIBCXX_9.9.99"});
    image.version_needs.push_back({"libc.so.6", "GLIBC_9.99"});
    const LibraryCheck check = LibrarySearch(probe_program()).check(good_plugin(), image);
    REQUIRE(check.problems.size() == 2);
    CHECK_THAT(check.problems[0].reason, contains("needs GLIBCXX_9.9.99 of libstdc++.so.6, which /"));
    CHECK_THAT(check.problems[0].got, contains("at most GLIBCXX_3.4."));
    CHECK(check.problems[0].got != "at most GLIBCXX_3.4.9");  // versions are numbers, not text
    CHECK(check.problems[1].expected == "GLIBC_9.99");
    CHECK(check.problems[1].hint == "rebuild it on this system, or on an older one");
}

TEST_CASE("the loader's cache is read, other architectures left out, and damage ignored") {
    const std::string cache = cache_with({{0x0303, "liba.so.1", "/usr/lib/liba.so.1"},
                                          {0x0003, "liba.so.1", "/usr/lib32/liba.so.1"},
                                          {0x0303, "libb.so.2", "/opt/libb.so.2"}});
    const auto files = parse_loader_cache(cache);
    CHECK(files.size() == 2);
    CHECK(files.at("liba.so.1") == "/usr/lib/liba.so.1");
    CHECK(files.at("libb.so.2") == "/opt/libb.so.2");
    CHECK(parse_loader_cache("old format" + cache).size() == 2);
    CHECK(parse_loader_cache("").empty());
    CHECK(parse_loader_cache("something else entirely, longer than a header would have to be").empty());
    for (std::size_t size = 0; size < cache.size(); ++size) (void)parse_loader_cache(cache.substr(0, size));
    std::string wild = cache;
    wild.replace(20, 4, "\xff\xff\xff\xff");
    wild.replace(52, 4, "\xff\xff\xff\xff");
    (void)parse_loader_cache(wild);
}
