// Where plugins are looked for, and in which order.
#include <cstdlib>

#include "core/kernel/loader/search_path.h"

#include "fixture.h"
#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard::loader;
using namespace switchyard::test;

TEST_CASE("the variable comes first, then the configuration, then the user's own, then what came along") {
    const std::string folder = temporary_dir("search");
    const Variable variable("SWITCHYARD_PLUGIN_PATH", folder + "/a::" + folder + "/b:");
    const Variable home("HOME", folder + "/home");
    const SearchPath path = standard_search_path({folder + "/c", folder + "/x/../a"});
    REQUIRE(path.entries.size() == 6);
    CHECK(path.entries[0].path == folder + "/a");
    CHECK(path.entries[0].origin == "SWITCHYARD_PLUGIN_PATH");
    CHECK(path.entries[0].named);
    CHECK(path.entries[1].path == folder + "/b");
    CHECK(path.entries[2].path == folder + "/c");
    CHECK(path.entries[2].origin == "plugins.paths");
    CHECK(path.entries[3].origin == "plugins install");
    CHECK(path.entries[3].path == folder + "/home/.local/lib/switchyard/plugins");
    CHECK_FALSE(path.entries[3].named);
    CHECK(path.entries[4].origin == "beside the program");
    CHECK(path.entries[4].path == (build_dir() / "lib/switchyard/plugins").string());
    CHECK_FALSE(path.entries[4].named);
    CHECK(path.entries[5].origin == "installed");
}

TEST_CASE("a home that is none, or no absolute path, is no place to look") {
    for (const std::string home : {"", "relative"}) {
        const Variable variable("HOME", home);
        CHECK(user_plugin_folder().empty());
    }
}

TEST_CASE("a place that is named twice, in whatever spelling, is looked at once") {
    const std::string folder = temporary_dir("search");
    std::filesystem::create_directory(folder + "/real");
    std::filesystem::create_directory_symlink(folder + "/real", folder + "/link");
    const Variable variable("SWITCHYARD_PLUGIN_PATH",
                            folder + "/real:" + folder + "/link:" + folder + "/real/");
    CHECK(standard_search_path().entries[0].path == folder + "/real");
    CHECK(standard_search_path().entries[1].origin != "SWITCHYARD_PLUGIN_PATH");
}

TEST_CASE("a folder gives its own libraries in order, without second libraries for CUDA") {
    const std::string folder = temporary_dir("search");
    std::filesystem::create_directories(folder + "/inside");
    for (const std::string name :
         {"libb.so", "liba.so", "liba_cuda.so", "readme.txt", "libc.so.1", "inside/libd.so"}) {
        write_file(folder + "/" + name, "x");
    }
    const auto findings = scan({{{folder, "plugins.paths", true},
                                 {folder + "/libc.so.1", "plugins.paths", true},
                                 {folder + "/not_there", "plugins.paths", true}}});
    REQUIRE(findings.size() == 3);
    CHECK(findings[0].libraries == std::vector<std::string>{folder + "/liba.so", folder + "/libb.so"});
    CHECK(findings[1].libraries == std::vector<std::string>{folder + "/libc.so.1"});
    CHECK_FALSE(findings[2].exists);
    CHECK(findings[2].error.empty());
}
