// Files that include others. Add a case: write the files with `write_file`, load the outermost.
#include "config_test.h"

#include <switchyard_test.h>

namespace fs = std::filesystem;
using switchyard::config::load;
using switchyard::config::LoadRequest;
using switchyard::config::LoadResult;
using switchyard::test::write_file;

namespace {

LoadResult load_file(const fs::path& path) {
    LoadRequest request;
    request.path = path.string();
    request.preset_dirs = switchyard::test::preset_dirs();
    return load(request);
}

std::string errors_of(const fs::path& path) {
    auto problems = load_file(path).problems;
    for (auto& problem : problems) problem.source.clear();
    return switchyard::config::render(problems);
}

}  // namespace

TEST_CASE("the including file wins over what it includes, later includes over earlier ones") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "run.toml", "include = [\"base.toml\", \"sub/more.toml\"]\nrun.seed = 3\n");
    write_file(dir / "base.toml", "preset = \"gpt2\"\nrun.seed = 1\nbatch.size = 4\nbatch.min_length = 2\n");
    write_file(dir / "sub/more.toml", "include = \"deep.toml\"\nrun.seed = 2\nbatch.size = 5\n");
    write_file(dir / "sub/deep.toml", "runtime.threads = 7\nbatch.size = 6\nmodel.layers = 3\n");
    const auto result = load_file(dir / "run.toml");
    REQUIRE(result.config);
    const auto& config = *result.config;
    CHECK(config.run.seed == 3);
    CHECK(config.batch.size == 5);
    CHECK(config.batch.min_length == 2);
    CHECK(config.runtime.threads == 7);
    CHECK(config.model.layers == 3);
    CHECK(config.model.vocab_size == 50257);
    CHECK(config.where("runtime.threads") == (dir / "sub/deep.toml").string() + ":1:9");
    CHECK(config.where("model.vocab_size") == "preset gpt2:8:1");
    CHECK(result.files.size() == 5);
}

TEST_CASE("a file that is included twice on different ways is no circle") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "run.toml", "include = [\"a.toml\", \"b.toml\"]\n");
    write_file(dir / "a.toml", "include = [\"common.toml\"]\n");
    write_file(dir / "b.toml", "include = [\"common.toml\"]\n");
    write_file(dir / "common.toml", "run.seed = 1\n");
    CHECK(errors_of(dir / "run.toml").empty());
}

TEST_CASE("files that include each other in a circle") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "a.toml", "include = [\"b.toml\"]\n");
    write_file(dir / "b.toml", "include = [\"sub/c.toml\"]\nrun.sed = 1\n");
    write_file(dir / "sub/c.toml", "\ninclude = [\"../a.toml\"]\n");
    CHECK(errors_of(dir / "a.toml") == (dir / "b.toml").string() +
                                           ":2:5: error: run.sed: unknown key; did you mean run.seed?\n" +
                                           (dir / "sub/c.toml").string() +
                                           ":2:12: error: include: files include each other in a circle: "
                                           "a.toml -> b.toml -> c.toml -> a.toml; "
                                           "expected files that do not lead back to themselves\n");
    write_file(dir / "self.toml", "include = \"./self.toml\"\n");
    CHECK(errors_of(dir / "self.toml") == (dir / "self.toml").string() +
                                              ":1:11: error: include: files include each other in a circle: "
                                              "self.toml -> self.toml; expected files "
                                              "that do not lead back to themselves\n");
}

TEST_CASE("includes that are nested too deeply") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    for (int i = 0; i < 40; ++i) {
        write_file(dir / (std::to_string(i) + ".toml"), "include = \"" + std::to_string(i + 1) + ".toml\"\n");
    }
    CHECK(errors_of(dir / "0.toml") ==
          (dir / "16.toml").string() +
              ":1:11: error: include: includes are nested too deeply; expected at most "
              "16 levels\n");
}

TEST_CASE("includes that double at every level do not run away") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    for (int i = 0; i < 12; ++i) {
        const std::string next = '"' + std::to_string(i + 1) + ".toml\"";
        write_file(dir / (std::to_string(i) + ".toml"), "include = [" + next + ", " + next + "]\n");
    }
    write_file(dir / "12.toml", "run.seed = 1\n");
    CHECK_THAT(errors_of(dir / "0.toml"),
               switchyard::test::contains("error: include: too many files are read; expected at most 64\n"));
}

TEST_CASE("what cannot be included is told at the place of the include") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "run.toml", "include = [\"missing.toml\", 3, \".\", \"bad.toml\"]\nrun.seed = 1\n");
    write_file(dir / "bad.toml", "x = \"\xff\"\n");
    CHECK(errors_of(dir / "run.toml") ==
          (dir / "run.toml").string() + ":1:28: error: include[1]: got the integer 3; expected a string\n");
    write_file(dir / "run.toml", "include = [\"missing.toml\", \".\", \"bad.toml\"]\nrun.seed = 1\n");
    CHECK(errors_of(dir / "run.toml") ==
          (dir / "run.toml").string() + ":1:12: error: include: " + (dir / "missing.toml").string() +
              " cannot be read: No such file or directory\n" + (dir / "run.toml").string() +
              ":1:28: error: include: " + (dir / "").string() + " is a folder; expected a TOML file\n" +
              (dir / "bad.toml").string() +
              ":1:6: error: byte 0xff is not valid UTF-8; expected TOML text in UTF-8\n");
    write_file(dir / "run.toml", "include = 3\n");
    CHECK(errors_of(dir / "run.toml") ==
          (dir / "run.toml").string() + ":1:11: error: include: got the integer 3; expected a string\n");
}

TEST_CASE("paths of plugins are relative to the file that names them") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "run.toml", "include = \"sub/base.toml\"\n");
    write_file(dir / "sub/base.toml", "plugins.paths = [\"mine\", \"../other\", \"/opt/plugins\"]\n");
    const auto result = load_file(dir / "run.toml");
    REQUIRE(result.config);
    CHECK(result.config->plugins.paths ==
          std::vector<std::string>{(dir / "sub/mine").string(), (dir / "other").string(), "/opt/plugins"});
}

TEST_CASE("a program is relative to the file that names it, what has no slash is left to PATH") {
    const fs::path dir = switchyard::test::temporary_dir("include");
    write_file(dir / "run.toml", "include = \"sub/base.toml\"\n");
    const auto command = [&](const std::string& list) {
        write_file(dir / "sub/base.toml", "log.command = " + list + "\n");
        const auto result = load_file(dir / "run.toml");
        REQUIRE(result.config);
        return result.config->log.command;
    };
    using Words = std::vector<std::string>;
    CHECK(command("[\"./log\", \"./as/it/is\"]") == Words{(dir / "sub/log").string(), "./as/it/is"});
    CHECK(command("[\"python3\", \"../log.py\"]") == Words{"python3", "../log.py"});
    CHECK(command("[\"/opt/log\"]") == Words{"/opt/log"});
    CHECK(command("[]") == Words{});
}
