// What is refused before the parser sees it. Each case: a text or file, and the exact error.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/kernel/config/guard_text.h"

#include "config_test.h"

#include <switchyard_test.h>

namespace fs = std::filesystem;
using switchyard::config::load;
using switchyard::config::LoadRequest;
using switchyard::config::render;
using switchyard::test::errors;

namespace {

std::string repeat(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
}

std::string errors_of_file(const fs::path& path) {
    LoadRequest request;
    request.path = path.string();
    return render(load(request).problems);
}

}  // namespace

TEST_CASE("brackets nested 10,000 deep") {
    const std::string expected = "error: brackets are nested too deeply; expected at most 16 levels\n";
    CHECK(errors("a = " + repeat("[", 10'000)) == "run.toml:1:21: " + expected);
    CHECK(errors("a = " + repeat("[\n", 10'000)) == "run.toml:17:1: " + expected);
    CHECK(errors("a = " + repeat("{a = ", 10'000)) == "run.toml:1:85: " + expected);
    CHECK(errors(repeat("[", 10'000)) == "run.toml:1:17: " + expected);
}

TEST_CASE("dotted keys and headers 10,000 long") {
    const std::string expected = "error: there are too many dots in this line; expected at most 64\n";
    CHECK(errors(repeat("a.", 10'000) + "a = 1") == "run.toml:1:130: " + expected);
    CHECK(errors(repeat("[", 1) + repeat("a.", 10'000) + "a]") == "run.toml:1:131: " + expected);
    CHECK(errors("x = {" + repeat("\"a\".", 10'000) + "a = 1}") == "run.toml:1:265: " + expected);
}

TEST_CASE("nesting and dots together stay within what the parser's stack holds") {
    const std::string dots = repeat("a.", 64) + "a = ";
    std::string text;
    for (int i = 0; i < 8; ++i) text += dots + "[\n{";
    CHECK_THAT(errors(text), switchyard::test::contains("error: "));
    // The deepest that passes the guards: 9 tables of 65 levels each in one another.
    std::string deepest = dots;
    for (int i = 0; i < 8; ++i) deepest += "[\n{" + dots;
    deepest += '1';
    for (int i = 0; i < 8; ++i) deepest += "}\n]";
    CHECK(errors(deepest) ==
          "run.toml:1:1: error: a: unknown section; `switchyard config schema` lists all keys\n");
}

TEST_CASE("dots and brackets in strings and comments are no nesting") {
    CHECK(errors("# " + repeat(".[", 1000) + "\nrun.seed = 1").empty());
    const auto wrong_type = [](const std::string& value) {
        return errors("run.seed = " + value).find("expected an integer") != std::string::npos;
    };
    CHECK(wrong_type('"' + repeat(".[", 1000) + '"'));
    CHECK(wrong_type('\'' + repeat(".[", 1000) + '\''));
    CHECK(wrong_type("\"\"\"" + repeat(".[\n", 1000) + "\"\"\"\"\""));
    CHECK(wrong_type("'''" + repeat(".[\n", 1000) + "''''"));
    CHECK(wrong_type("\"\\\"" + repeat(".[", 1000) + "\""));
}

TEST_CASE("bytes that are no UTF-8 are told with line and column") {
    const auto refused = [](const std::string& place, const std::string& byte) {
        return "run.toml:" + place + ": error: byte " + byte +
               " is not valid UTF-8; expected TOML text in UTF-8\n";
    };
    CHECK(errors("a = 1\nb = \"\xff\"") == refused("2:6", "0xff"));
    CHECK(errors("# \xc3\xa4\xc3") == refused("1:4", "0xc3"));      // cut short
    CHECK(errors("# \xc0\x80") == refused("1:3", "0xc0"));          // overlong
    CHECK(errors("# \xe0\x80\x80") == refused("1:3", "0xe0"));      // overlong
    CHECK(errors("# \xed\xa0\x80") == refused("1:3", "0xed"));      // surrogate
    CHECK(errors("# \xf4\x90\x80\x80") == refused("1:3", "0xf4"));  // above U+10FFFF
    CHECK(errors("\xff\xfe"
                 "a") == refused("1:1", "0xff"));  // UTF-16
    CHECK(errors("# \xf0\x9f\x9a\x82 \xe2\x82\xac \xc3\xa4").empty());
    CHECK(errors("\xef\xbb\xbf"
                 "run.seed = 1")
              .empty());  // a byte order mark is allowed
}

TEST_CASE("a NUL byte is told with line and column") {
    CHECK(errors(std::string("a = 1\nb\0 = 2", 12)) ==
          "run.toml:2:2: error: holds a NUL byte; expected TOML text\n");
}

TEST_CASE("files that are too large, and one that just is not") {
    const auto dir = switchyard::test::temporary_dir("guard");
    const fs::path huge = dir / "huge.toml";
    switchyard::test::write_file(huge, "a = 1\n");
    fs::resize_file(huge, 100'000'000);
    CHECK(errors_of_file(huge) ==
          huge.string() + ": error: is 100000000 bytes long; expected at most 1048576 bytes of TOML\n");
    const fs::path largest = dir / "largest.toml";
    switchyard::test::write_file(largest, "#" + std::string(switchyard::config::max_bytes - 1, ' '));
    CHECK(errors_of_file(largest).empty());
    CHECK_THAT(errors("#" + std::string(switchyard::config::max_bytes, ' ')),
               switchyard::test::contains("is 1048577 bytes long"));
}

TEST_CASE("what is no readable file") {
    const auto dir = switchyard::test::temporary_dir("guard");
    CHECK(errors_of_file(dir) == dir.string() + ": error: is a folder; expected a TOML file\n");
    const fs::path missing = dir / "missing.toml";
    CHECK(errors_of_file(missing) ==
          missing.string() + ": error: cannot be read: No such file or directory\n");
    const fs::path pipe = dir / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(errors_of_file(pipe) == pipe.string() + ": error: is not a regular file; expected a TOML file\n");
    CHECK(errors_of_file("/dev/zero") == "/dev/zero: error: is not a regular file; expected a TOML file\n");
}

TEST_CASE("a file without permission is refused") {
    const fs::path secret = switchyard::test::temporary_dir("guard") / "secret.toml";
    switchyard::test::write_file(secret, "run.seed = 1\n");
    fs::permissions(secret, fs::perms::none);
    const std::string text = errors_of_file(secret);
    if (::geteuid() == 0)
        CHECK(text.empty());  // permissions do not bind root
    else
        CHECK(text == secret.string() + ": error: cannot be read: Permission denied\n");
}
