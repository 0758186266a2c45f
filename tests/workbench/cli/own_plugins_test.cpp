// switchyard plugins new | install | remove: what they write where, and what they refuse. Whether what `new`
// writes builds and passes is tested in tests/install.
#include <filesystem>
#include <fstream>

#include <switchyard/interfaces/kinds.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

// A home of its own, and no other plugins than those of the build.
class Home {
public:
    Home() : folder_(temporary_dir("home")) {
        options.environment = {{"HOME", folder_.string()}, {"SWITCHYARD_PLUGIN_PATH", ""}};
        options.folder = folder_.string();
    }
    fs::path plugins() const { return folder_ / ".local/lib/switchyard/plugins"; }
    fs::path file(const std::string& name) const { return folder_ / name; }

    RunOptions options;

private:
    fs::path folder_;
};

const fs::path good = build_dir() / "tests/support/plugins/good/libtest_good.so";
const fs::path errs = build_dir() / "tests/support/plugins/errs/libtest_errs.so";

}  // namespace

TEST_CASE("a new plugin of each kind has its name in place of the template's") {
    const Home home;
    for (const auto name : names<Kind>) {
        const std::string kind(name);
        INFO(kind);
        const auto made = run({"plugins", "new", "my_" + kind, "--kind", kind}, home.options);
        INFO(made.err);
        REQUIRE(made.code == 0);
        CHECK_THAT(made.out, contains("cmake --preset release") && contains("my_" + kind + ".cpp"));
        const auto files = files_below(home.file("my_" + kind));
        for (const auto* expected : {"CMakeLists.txt", "CMakePresets.json", "README.md", "plugin.toml"})
            CHECK(files.contains(expected));
        CHECK(files.contains("my_" + kind + ".cpp"));
        CHECK(files.contains("my_" + kind + ".h"));
        for (const auto& [file, text] : files) {
            INFO(file);
            CHECK(text.find('@' + std::string("NAME@")) == std::string::npos);
            CHECK(text.find("@CLASS@") == std::string::npos);
            CHECK(text.find("@KIND@") == std::string::npos);
        }
    }
    CHECK_THAT(
        bytes_of(home.file("my_data_loader/my_data_loader.h")),
        contains("namespace my_data_loader_plugin {") && contains("class MyDataLoaderComponent final"));
    CHECK_THAT(bytes_of(home.file("my_data_loader/plugin.toml")),
               contains("class = \"my_data_loader_plugin::MyDataLoaderComponent\""));
}

TEST_CASE("a new plugin of the stable tier is one in C, and one for CUDA has a kernel in a file of its own") {
    const Home home;
    struct Made {
        std::string option;
        std::vector<std::string> kinds, endings;
    };
    for (const auto& one : {Made{"--stable", {"attention", "linear", "normalization", "optimizer"}, {".c"}},
                            Made{"--cuda",
                                 {"activation", "attention", "linear", "loss", "normalization", "optimizer"},
                                 {".cpp", ".h", "_cuda.cpp", "_kernel.cu", "_kernel.h"}}}) {
        for (const auto name : names<Kind>) {
            const std::string kind(name), folder = "my_" + kind + one.option;
            INFO(folder);
            const Words words{"plugins", "new", "my_" + kind, "--kind", kind, one.option, "--out", folder};
            if (std::ranges::find(one.kinds, kind) == one.kinds.end()) {
                check_refused(run(words, home.options),
                              {one.option + " has no template of the kind " + kind + "; expected one of ",
                               one.kinds.front()});
                CHECK_FALSE(fs::exists(home.file(folder)));
                continue;
            }
            const auto made = run(words, home.options);
            INFO(made.err);
            REQUIRE(made.code == 0);
            const auto files = files_below(home.file(folder));
            for (const auto& ending : one.endings) CHECK(files.contains("my_" + kind + ending));
            for (const auto* expected : {"CMakeLists.txt", "README.md", "plugin.toml", ".gitignore"})
                CHECK(files.contains(expected));
            for (const auto& [file, text] : files) {
                INFO(file);
                CHECK(text.find('@' + std::string("NAME@")) == std::string::npos);
                CHECK(text.find("@CLASS@") == std::string::npos);
                CHECK(text.find("@KIND@") == std::string::npos);
            }
        }
    }
    check_refused(
        run({"plugins", "new", "both", "--kind", "normalization", "--stable", "--cuda"}, home.options),
        {"--stable and --cuda: there is no template that is both"});
}

TEST_CASE("nothing is written over, and what a name may be is said") {
    const Home home;
    const auto refused = [&](const Words& more, const Words& parts) {
        check_refused(run(with({"plugins", "new"}, more), home.options), parts);
    };
    refused({"Fast", "--kind", "loss"}, {"NAME Fast: expected lower-case letters, digits and '_'"});
    refused({"9x", "--kind", "loss"}, {"NAME 9x"});
    refused({"../x", "--kind", "loss"}, {"NAME ../x"});
    refused({"test", "--kind", "loss"},
            {"NAME test: CMake has a target of that name; expected another name, as my_test"});
    refused({"math", "--kind", "loss"},
            {"NAME math: math.h would hide the system's header of that name; expected another name, as "});
    refused({"fast_cuda", "--kind", "loss"},
            {"NAME fast_cuda: libfast_cuda.so would count as the part for CUDA of another plugin"});
    refused({"torch", "--kind", "loss"},
            {"NAME torch: a plugin that comes with this program is called so, and it would take that one's "
             "place; expected another name, as my_torch"});
    CHECK_FALSE(fs::exists(home.file("torch")));
    refused({"x", "--kind", "norm"}, {"--kind", "normalization"});
    refused({"x"}, {"--kind is required"});
    std::ofstream(home.file("x")) << "mine";
    refused({"x", "--kind", "loss"}, {"x: is there already", "--out names another"});
    CHECK(bytes_of(home.file("x")) == "mine");
    const auto made = run({"plugins", "new", "x", "--kind", "loss", "--out", "my y"}, home.options);
    CHECK(made.code == 0);
    CHECK_THAT(made.out, contains("\n  cd 'my y'\n"));
    refused({"x", "--kind", "loss", "--out", "my y"}, {"my y: is there already"});
}

TEST_CASE("a plugin that is installed is found, and is not any more once it is removed") {
    const Home home;
    const auto installed = run({"plugins", "install", good.string()}, home.options);
    INFO(installed.err);
    REQUIRE(installed.code == 0);
    CHECK_THAT(installed.out, contains("installed in " + home.plugins().string()) &&
                                  contains("switchyard plugins verify test_good"));
    CHECK(bytes_of(home.plugins() / "libtest_good.so") == bytes_of(good));
    const auto list = run_json({"plugins", "list"}, 0, home.options);
    CHECK(list["plugins"][0]["name"] == "test_good");
    CHECK(list["plugins"][0]["origin"] == "plugins install");
    CHECK(list["plugins"][0]["usable"] == true);
    // Again: it is replaced.
    CHECK(run({"plugins", "install", good.string()}, home.options).code == 0);

    // Its next release may have another file.
    const auto next = home.file("libtest_good-2.so");
    fs::copy_file(good, next);
    std::ofstream(next, std::ios::binary | std::ios::app) << '\0';
    std::ofstream(home.plugins() / "libtest_good.so.sig") << "older";
    std::ofstream(home.plugins() / "libtest_good_cuda.so") << "older";
    fs::create_symlink("libtest_good.so", home.plugins() / "libtest_good-0.so");
    const auto replaced = run({"plugins", "install", next.string()}, home.options);
    INFO(replaced.err);
    REQUIRE(replaced.code == 0);
    CHECK_THAT(replaced.out, contains(" in place of libtest_good-0.so, libtest_good.so; "));
    CHECK(files_below(home.plugins()).size() == 1);
    CHECK(bytes_of(home.plugins() / "libtest_good-2.so") == bytes_of(next));
    // Put there by hand, of the same name.
    fs::copy_file(good, home.plugins() / "libtest_good.so");

    check_refused(run({"plugins", "remove", "test_goof"}, home.options),
                  {"is called \"test_goof\"; did you mean \"test_good\"?", "installed there: test_good"});
    REQUIRE(run({"plugins", "remove", "test_good"}, home.options).code == 0);
    CHECK(files_below(home.plugins()).empty());
    check_refused(run({"plugins", "remove", "test_good"}, home.options), {"none is installed there"});
    check_refused(run({"plugins", "remove", "torch"}, home.options), {"is called \"torch\""});
}

TEST_CASE("a plugin that is called as one that comes with the program is not installed over it, and told") {
    const Home home;
    const fs::path naive = build_dir() / "lib/switchyard/plugins/libnaive.so";
    check_refused(run({"plugins", "install", naive.string()}, home.options),
                  {"nothing was installed",
                   "libnaive.so: is called \"naive\", as a plugin that comes with this program",
                   "expected another name in its plugin.toml, or its folder in plugins.paths"});
    CHECK_FALSE(fs::exists(home.plugins() / "libnaive.so"));
    // Put there by hand, or by who names its folder: it counts, and the other one is listed with the reason.
    fs::create_directories(home.plugins());
    fs::copy_file(naive, home.plugins() / "libnaive.so");
    const auto list = run({"plugins", "list"}, home.options);
    CHECK(list.code == 0);
    CHECK_THAT(list.out,
               contains("refused: duplicate") && contains("a plugin called 'naive' was found before"));
}

TEST_CASE("a plugin is not installed over another one whose file is called as its own, and both are told") {
    const Home home;
    REQUIRE(run({"plugins", "install", good.string()}, home.options).code == 0);
    const auto before = files_below(home.plugins());
    fs::create_directories(home.file("two"));
    fs::copy_file(errs, home.file("two/libtest_good.so"));
    fs::copy_file(errs, home.file("libtest_errs.so"));
    const auto target = (home.plugins() / "libtest_good.so").string();
    for (const std::string place : {"two/libtest_good.so", "two"}) {
        INFO(place);
        check_refused(run({"plugins", "install", place}, home.options),
                      {"nothing was installed",
                       "two/libtest_good.so: would replace " + target +
                           ", which is the plugin \"test_good\"; expected another name of the file, or "
                           "`switchyard plugins remove test_good` before"});
        const bool untouched = files_below(home.plugins()) == before;
        CHECK(untouched);
    }
    // Either of the two helps.
    CHECK(run({"plugins", "install", "libtest_errs.so"}, home.options).code == 0);
    CHECK(bytes_of(target) == bytes_of(good));
    REQUIRE(run({"plugins", "remove", "test_errs"}, home.options).code == 0);
    REQUIRE(run({"plugins", "remove", "test_good"}, home.options).code == 0);
    CHECK(run({"plugins", "install", "two"}, home.options).code == 0);
    CHECK(bytes_of(target) == bytes_of(errs));
}

TEST_CASE("a folder is installed as a whole, or not at all where one of its plugins cannot be used") {
    const Home home;
    fs::create_directories(home.file("two"));
    fs::copy_file(good, home.file("two/libtest_good.so"));
    CHECK(run({"plugins", "install", "two"}, home.options).code == 0);
    REQUIRE(run({"plugins", "remove", "test_good"}, home.options).code == 0);
    std::ofstream(home.file("two/libbroken.so")) << "this is no library";
    check_refused(run({"plugins", "install", "two"}, home.options),
                  {"nothing was installed", "libbroken.so", "no ELF file"});
    CHECK(files_below(home.plugins()).empty());
    fs::create_directories(home.file("none"));
    check_refused(run({"plugins", "install", "none"}, home.options), {"none: error: has no plugins"});
    check_refused(run({"plugins", "install", "nowhere.so"}, home.options),
                  {"nowhere.so: error: there is no such file"});
    auto homeless = home.options;
    homeless.environment["HOME"] = "";
    check_refused(run({"plugins", "install", good.string()}, homeless), {"HOME is not set"});
}
