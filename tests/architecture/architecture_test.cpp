// The dependency rule holds in this tree, and the check of it finds each kind of breach.
// To add a rule: write it in rules.cpp, call it on source_dir() here, and add a tree that breaks it to the
// second half.
#include <fstream>

#include <switchyard_test.h>
#include "rules.h"

namespace arch = switchyard::architecture;
namespace fs = std::filesystem;
using switchyard::test::build_dir;
using switchyard::test::source_dir;
using switchyard::test::temporary_dir;

namespace {

std::string joined(const arch::Problems& problems) {
    std::string text;
    for (const auto& problem : problems) text += problem + "\n";
    return text;
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("includes follow the dependency rule") { CHECK(joined(arch::check_includes(source_dir())) == ""); }

TEST_CASE("link lines follow the dependency rule") {
    CHECK(joined(arch::check_links(source_dir(), build_dir() / "targets.txt")) == "");
}

TEST_CASE("core names no plugin") { CHECK(joined(arch::check_plugin_names(source_dir())) == ""); }

TEST_CASE("core prints through streams that escape what they are given") {
    CHECK(joined(arch::check_output(source_dir())) == "");
}

TEST_CASE("what one place does is called nowhere else") {
    CHECK(joined(arch::check_calls(source_dir())) == "");
}

TEST_CASE("no two classes of a namespace have one name") {
    CHECK(joined(arch::check_definitions(source_dir())) == "");
}

TEST_CASE("a namespace has the name of its folder") {
    CHECK(joined(arch::check_namespaces(source_dir())) == "");
    const auto root = temporary_dir("namespaces");
    write(root / "core/kernel/loader/a.h", "namespace switchyard::loader {\n}\nnamespace switchyard {\n}\n");
    write(root / "core/kernel/probe/b.h", "namespace switchyard::loader {\n}\n");
    CHECK(joined(arch::check_namespaces(root)) == "");
    write(root / "core/reference/c.h", "namespace switchyard::model {\n}\n");
    CHECK(joined(arch::check_namespaces(root)) ==
          "core/reference/c.h:1: the namespace is switchyard::model, the folder reference\n");
}

TEST_CASE("no source file is longer than 500 lines") {
    CHECK(joined(arch::check_lengths(source_dir(), 500)) == "");
}

TEST_CASE("no comment is longer than 110 columns") {
    CHECK(joined(arch::check_comments(source_dir(), 110)) == "");
    const auto root = temporary_dir("comments");
    const std::string words(100, 'x');
    write(root / "core/workbench/cli/a.cpp",
          "// " + words + "\n    // and " + words + "\nauto b = 1;  // " + words + "\n");
    CHECK(joined(arch::check_comments(root, 103)) ==
          "core/workbench/cli/a.cpp:2: the comment has 111 columns; at most 103 are allowed\n");
}

TEST_CASE("tests lie where what they test lies") {
    for (const std::string parent : {"kernel", "workbench"}) {
        for (const auto& entry : fs::directory_iterator(source_dir() / "tests" / parent)) {
            INFO(entry.path());
            CHECK(fs::is_directory(source_dir() / "core" / parent / entry.path().filename()));
        }
    }
}

TEST_CASE("what the documentation's table names is there") {
    CHECK(joined(arch::check_map(source_dir(), "docs/architecture.md", "Find it in a minute")) == "");
    const auto root = temporary_dir("map");
    write(root / "core/a/b.h", "");
    write(
        root / "map.md",
        "| x | `core/gone.h` |\n## Find it\n| What? | `core/a`, `b.h` (`Gate`), `c.h`; `core/a/{b,d}.h` |\n");
    CHECK(joined(arch::check_map(root, "map.md", "Find it")) ==
          "map.md: c.h is named there and does not exist\n"
          "map.md: core/a/d.h is named there and does not exist\n");
}

TEST_CASE("files that comments and documents name are there") {
    CHECK(joined(arch::check_named_paths(source_dir())) == "");
    const auto root = temporary_dir("named");
    write(root / "docs/a.md", "see `core/a.h`, [b](b.md), tests/NAME and https://x.org/docs/c.md\n");
    write(root / "core/b.cmake", "see(core/c.h)\n# As core/{b.cmake,d.h} has it, and cuda/device*.h.\n");
    CHECK(joined(arch::check_named_paths(root)) ==
          "core/b.cmake:2: core/d.h does not exist\ndocs/a.md:1: core/a.h does not exist\n");
}

TEST_CASE("a tree that keeps the rule has no problems") {
    const auto root = temporary_dir("good");
    write(root / "core/include/switchyard/interfaces/a.h",
          "#include <ATen/core/Tensor.h>\n#include <string>\n");
    write(
        root / "core/workbench/cli/main.cpp",
        "#include <switchyard/interfaces/a.h>\n#include \"core/workbench/cli/command.h\"\nauto x = \"p\";\n");
    write(root / "plugins/p/p.cpp", "#include <switchyard/sdk/plugin.h>\n#include <ATen/ops/add.h>\n");
    CHECK(joined(arch::check_includes(root)) == "");
    CHECK(joined(arch::check_plugin_names(root)) == "");
    CHECK(joined(arch::check_lengths(root, 3)) == "");
}

TEST_CASE("an include that breaks the rule is named with its line") {
    struct Case {
        const char* file;
        const char* line;
        const char* message;
    };
    const auto c = GENERATE(values<Case>({
        {"core/include/switchyard/interfaces/a.h", "#include \"core/kernel/base/b.h\"",
         "interfaces may not include core/kernel/base/b.h"},
        {"core/kernel/loader/a.cpp", "#include \"core/kernel/resolver/b.h\"",
         "loader may not include core/kernel/resolver/b.h"},
        {"core/kernel/runtime/a.cpp", "#include \"core/workbench/model/b.h\"",
         "runtime may not include core/workbench/model/b.h"},
        {"core/reference/a.cpp", "#include \"core/kernel/config/b.h\"", "it may use interfaces"},
        {"core/kernel/resolver/a.cpp", "#include <switchyard/sdk/b.h>", "resolver may not include"},
        {"core/kernel/config/a.cpp", "#include \"b.h\"", "does not say where it is"},
        {"core/kernel/config/a.cpp", "#include <switchyard/config/b.h>", "is not published"},
        {"sdk/include/switchyard/sdk/a.h", "#include \"core/kernel/loader/b.h\"",
         "sdk may not include core/kernel/loader/b.h"},
        {"sdk/conformance/a.cpp", "#include \"core/workbench/compare/b.h\"", "conformance may not include"},
        {"plugins/p/a.cpp", "#include \"core/kernel/loader/b.h\"",
         "plugin may not include core/kernel/loader/b.h"},
        {"examples/plugin/a.cpp", "#include \"core/workbench/model/b.h\"", "plugin may not include"},
        {"plugins/p/a.cpp", "#include <switchyard/conformance/b.h>", "plugin may not include"},
        {"plugins/p/a.cpp", "#include \"../q/b.h\"", "\"../q/b.h\" leaves its folder"},
        {"plugins/p/a.cpp", "  #  include <torch/torch.h> // all",
         "<torch/torch.h> may not be included here"},
        {"core/kernel/config/a.cpp", "#include <spdlog/spdlog.h>", "log through core/kernel/base/log.h"},
        {"core/include/switchyard/interfaces/a.h", "#include <ATen/ops/add.h>", "nothing more of ATen"},
        {"core/workbench/model/a.cpp", "#include <catch2/catch.hpp>", "only tests use Catch2"},
        {"core/elsewhere/a.cpp", "#include <vector>", "the folder has no place in the dependency rule"},
    }));
    const auto root = temporary_dir("bad");
    write(root / c.file, std::string(c.line) + "\n");
    const auto problems = arch::check_includes(root);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], switchyard::test::contains(std::string(c.file) + ":1: "));
    CHECK_THAT(problems[0], switchyard::test::contains(c.message));
}

TEST_CASE("two folders of one layer may not depend on each other in a circle") {
    const auto root = temporary_dir("circle");
    write(root / "core/kernel/machine/a.cpp", "\n#include \"core/kernel/config/c.h\"\n");
    CHECK(joined(arch::check_includes(root)) == "");
    write(root / "core/kernel/config/c.h", "#include \"core/kernel/machine/a.h\"\n");
    const auto text = joined(arch::check_includes(root));
    CHECK_THAT(text,
               switchyard::test::contains(
                   "core/kernel/machine/a.cpp:2: machine includes config, which depends on machine again"));
    CHECK_THAT(text, switchyard::test::contains("core/kernel/config/c.h:1: config includes machine"));
}

TEST_CASE("a plugin's name in core is found outside comments and help texts") {
    const auto root = temporary_dir("names");
    write(root / "plugins/quick/a.cpp", "");
    write(root / "core/workbench/model/a.cpp",
          "// \"quick\"\nauto name = \"quicker\";\nif (name == \"quick\") {}\n");
    CHECK(joined(arch::check_plugin_names(root)) ==
          "core/workbench/model/a.cpp:3: core names the plugin \"quick\"\n");
    write(root / "core/workbench/model/a.cpp",
          "auto help = R\"(like\nbackend = \"quick\"\n)\" + f(\"quick\");\n");
    CHECK(joined(arch::check_plugin_names(root)) ==
          "core/workbench/model/a.cpp:3: core names the plugin \"quick\"\n");
}

TEST_CASE("output that nothing escapes is found") {
    struct Case {
        const char* file;
        const char* line;
        const char* message;
    };
    const auto c = GENERATE(values<Case>({
        {"core/workbench/data/a.cpp", "std::cerr << row;", "only commands print"},
        {"core/workbench/cli/a.cpp", "std::fprintf(stderr, \"%s\", row);", "nothing escapes"},
        {"core/workbench/cli/a.cpp", "    puts(label);", "nothing escapes"},
        {"core/workbench/train/a.cpp", "::write(STDERR_FILENO, text.data(), text.size());",
         "nothing escapes"},
        {"core/workbench/cli/a.cpp", "int main(int argc, char** argv) {", "guard_terminal()"},
    }));
    const auto root = temporary_dir("output");
    write(root / "core/workbench/cli/b.cpp",
          "std::cout << inputs(std::snprintf(text, 9, \"%d\", 3));\n"
          "int main() {\n    switchyard::base::guard_terminal();\n");
    CHECK(joined(arch::check_output(root)) == "");
    write(root / c.file, std::string(c.line) + "\n");
    const auto problems = arch::check_output(root);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], switchyard::test::contains(std::string(c.file) + ":1: "));
    CHECK_THAT(problems[0], switchyard::test::contains(c.message));
}

TEST_CASE("tests use what both versions of Catch2 have") {
    CHECK(joined(arch::check_test_library(source_dir())) == "");
    const auto root = temporary_dir("test_library");
    write(root / "tests/a_test.cpp", "CHECK_THAT(a, contains(b));\n");
    CHECK(joined(arch::check_test_library(root)) == "");
    write(root / "tests/b_test.cpp",
          "\nCHECK_THAT(a, Catch"
          "::Contains(b));\n");
    CHECK(joined(arch::check_test_library(root)) ==
          "tests/b_test.cpp:2: Catch2 3 has no Contains for texts; write switchyard::test::contains\n");
}

TEST_CASE("a call that one place alone may make is found elsewhere") {
    const auto root = temporary_dir("calls");
    write(root / "core/kernel/base/json_text.cpp", "auto a = Json::sax_parse(begin, end, &builder);\n");
    write(root / "core/workbench/data/a.cpp",
          "// Json::parse(a)\nif (error == json::parse_error()) parse(a);\n");
    CHECK(joined(arch::check_calls(root)) == "");
    for (const std::string call : {"Json::parse(", "nlohmann::json::parse(", "ordered_json::accept(",
                                   "json::from_cbor(", "static_cast<const LossRequest&>(",
                                   "static_cast<switchyard::LossRequest&>(", "rows_of(x).sizes(); f("}) {
        write(root / "core/workbench/data/a.cpp", "\nauto a = " + call + "text);\n");
        CHECK_THAT(joined(arch::check_calls(root)),
                   switchyard::test::contains("core/workbench/data/a.cpp:2: "));
    }
}

TEST_CASE("a file over the limit is named with its length") {
    const auto root = temporary_dir("long");
    write(root / "core/kernel/loader/a.cpp", "\n\n\n\n");
    CHECK(joined(arch::check_lengths(root, 3)) ==
          "core/kernel/loader/a.cpp:3: the file has 4 lines; at most 3 are allowed\n");
}

TEST_CASE("a link line that breaks the rule is named") {
    const auto root = temporary_dir("links");
    const std::string at = root.string();
    const std::string good = "switchyard_loader|" + at + "/core/kernel/config/a.cpp;" + at +
                             "/core/kernel/loader/a.cpp|switchyard::json\n" + "switchyard_reference|" + at +
                             "/core/reference/a.cpp|switchyard::libtorch\n" + "switchyard-run|" + at +
                             "/core/workbench/cli/a.cpp|switchyard_loader;switchyard_reference\n" + "p|" +
                             at + "/plugins/p/a.cpp|switchyard::reference;switchyard::libtorch\n";
    const std::string bad = "q|" + at + "/plugins/q/a.cpp|switchyard_loader;p\n" + "switchyard_model|" + at +
                            "/core/workbench/model/a.cpp|p\n";
    write(root / "targets.txt", good);
    CHECK(joined(arch::check_links(root, root / "targets.txt")) == "");
    write(root / "targets.txt", good + bad);
    CHECK(joined(arch::check_links(root, root / "targets.txt")) ==
          "q links switchyard_loader, which its folder may not use\n"
          "q links p, which its folder may not use\n"
          "switchyard_model links p, which its folder may not use\n");
    CHECK_THAT(joined(arch::check_links(root, root / "absent.txt")),
               switchyard::test::contains("no targets"));
}
