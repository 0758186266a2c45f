// Where LibTorch is looked for, in which order, and what is said where it is not.
#include "core/kernel/machine/libtorch_place.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::machine;
namespace fs = std::filesystem;

namespace {

class Places {
public:
    Places() : root_(test::temporary_dir("libtorch_place")) {
        search_.built_in = (root_ / "installed/lib").string();
        search_.built_with = (root_ / "built/lib").string();
        search_.beside = (root_ / "beside").string();
        search_.version = "2.11.0";
        search_.variable = [this](const char* name) { return variables[name]; };
    }

    // A LibTorch; `version`: as a wheel's version.py has it, empty: it says none.
    std::string add(const std::string& name, const std::string& version = "") const {
        fs::create_directories(root_ / name / "lib");
        std::ofstream(root_ / name / "lib/libtorch_cpu.so") << "ELF";
        if (!version.empty())
            std::ofstream(root_ / name / "version.py")
                << "from typing import Optional\n__version__ = '" << version << "'\n";
        return (root_ / name).string();
    }
    std::string path(const std::string& name) const { return (root_ / name).string(); }
    LibTorchPlace found() const { return find_libtorch(search_); }

    std::map<std::string, std::string> variables;

private:
    fs::path root_;
    LibTorchSearch search_;
};

}  // namespace

TEST_CASE("LibTorch is where it was built with, installed, beside the program, or where CMake looks") {
    Places places;
    places.variables["CMAKE_PREFIX_PATH"] = places.path("none") + ":" + places.path("site-packages");
    places.add("site-packages/torch", "2.11.0+cu130");
    CHECK(places.found().libraries == places.path("site-packages/torch/lib"));
    CHECK_FALSE(places.found().built_in);
    places.variables["CMAKE_PREFIX_PATH"] =
        places.path("site-packages/torch/share/cmake");  // as torch prints it
    CHECK(places.found().libraries == places.path("site-packages/torch/lib"));
    places.add("beside");
    CHECK(places.found().libraries == places.path("beside/lib"));
    places.add("built");
    CHECK(places.found().libraries == places.path("built/lib"));
    CHECK_FALSE(places.found().built_in);
    places.add("installed");
    CHECK(places.found().libraries == places.path("installed/lib"));
    CHECK(places.found().built_in);
    places.variables["SWITCHYARD_LIBTORCH"] = places.add("mine", "2.11.0+cpu");
    CHECK(places.found().libraries == places.path("mine/lib"));
    CHECK(places.found().problem.empty());
}

TEST_CASE("where there is no LibTorch, or another one, is told with what was looked at and what to do") {
    Places places;
    places.variables["CMAKE_PREFIX_PATH"] = places.add("old/torch", "2.9.1+cpu");
    const auto none = places.found();
    CHECK(none.libraries.empty());
    CHECK_THAT(none.problem, test::contains("LibTorch 2.11.0 was not found"));
    for (const char* name : {"built/lib", "installed/lib", "beside/lib"})
        CHECK_THAT(none.problem, test::contains("\n    " + places.path(name)));
    CHECK_THAT(none.problem,
               test::contains(places.path("old/torch/lib") + ", which is LibTorch 2.9.1; this program"));
    CHECK_THAT(none.hint, test::contains("SWITCHYARD_LIBTORCH=FOLDER"));
    CHECK_THAT(none.hint, test::contains("pip install torch==2.11.0"));

    // What is named is taken or refused: nothing else takes its place.
    places.add("built");
    places.variables["SWITCHYARD_LIBTORCH"] = places.path("nothing");
    CHECK_THAT(places.found().problem, test::contains("SWITCHYARD_LIBTORCH=" + places.path("nothing") +
                                                       ": has no lib/libtorch_cpu.so"));
    places.variables["SWITCHYARD_LIBTORCH"] = places.path("old/torch");
    CHECK_THAT(places.found().problem,
               test::contains("is LibTorch 2.9.1; this program was built with 2.11.0"));
    CHECK(places.found().libraries.empty());
}

TEST_CASE("programs that are started are led to a LibTorch that they do not find themselves, before others") {
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("LD_LIBRARY_PATH", "/opt/lib", 1);
    lead_to({"/somewhere/lib", true, "", ""});
    CHECK(std::string(std::getenv("LD_LIBRARY_PATH")) == "/opt/lib");
    lead_to({"/somewhere/lib", false, "", ""});
    CHECK(std::string(std::getenv("LD_LIBRARY_PATH")) == "/somewhere/lib:/opt/lib");
    ::unsetenv("LD_LIBRARY_PATH");
    lead_to({"/somewhere/lib", false, "", ""});
    CHECK(std::string(std::getenv("LD_LIBRARY_PATH")) == "/somewhere/lib");
    if (before == nullptr)
        ::unsetenv("LD_LIBRARY_PATH");
    else
        ::setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
}
