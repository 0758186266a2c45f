// Whole files as text, up to a limit. To add a case: a file and what is said of it.
#include <fstream>

#include <switchyard/base/input_error.h>
#include <switchyard/base/read_text.h>

#include <switchyard_test.h>

using switchyard::base::read_text;
using switchyard::test::contains;

TEST_CASE("a file is read as it is, and one that is not there is none") {
    const auto file = (switchyard::test::temporary_dir("read") / "a").string();
    CHECK_FALSE(read_text(file));
    for (const std::string& text :
         {std::string(), std::string("a\0b\r\n\xff", 6), std::string(1 << 17, 'x')}) {
        std::ofstream(file, std::ios::binary) << text;
        const bool same = read_text(file) == text;
        CHECK(same);
    }
}

TEST_CASE("a file is read up to its limit") {
    const auto file = (switchyard::test::temporary_dir("read") / "a").string();
    std::ofstream(file, std::ios::binary) << std::string(100'000, 'x');
    CHECK(read_text(file, 100'000)->size() == 100'000);
    CHECK_THROWS_WITH(read_text(file, 99'999),
                      file + ": error: is larger than 99999 bytes, the most that is read");
    // What never ends is not read for ever.
    CHECK_THROWS_WITH(read_text("/dev/zero", 1000), contains("/dev/zero: error: is larger than 1000 bytes"));
}

TEST_CASE("a folder is no file") {
    const auto folder = switchyard::test::temporary_dir("read").string();
    CHECK_THROWS_WITH(read_text(folder), folder + ": error: is a folder; expected a file");
}
