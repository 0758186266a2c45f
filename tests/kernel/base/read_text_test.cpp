// Whole files as text, up to a limit. To add a case: a file and what is said of it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/read_text.h"

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

TEST_CASE("a FIFO is not waited for, and one with a writer is read") {
    const auto fifo = (switchyard::test::temporary_dir("read") / "fifo").string();
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(read_text(fifo), fifo + ": error: is a FIFO; expected a file");
    CHECK(switchyard::base::text_if_readable(fifo).empty());
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], "text", 4) == 4);
    ::close(ends[1]);
    CHECK(read_text("/dev/fd/" + std::to_string(ends[0])) == "text");
    ::close(ends[0]);
}

TEST_CASE("a file as large as is read at most is read, and one byte more is refused") {
    namespace limits = switchyard::base::limits;
    CHECK(limits::file_bytes == std::size_t{256} << 20);
    const auto file = (switchyard::test::temporary_dir("read") / "sparse").string();
    std::ofstream(file).close();
    std::filesystem::resize_file(file, limits::file_bytes);  // a hole: the disk holds nothing of it
    CHECK(read_text(file)->size() == limits::file_bytes);
    std::filesystem::resize_file(file, limits::file_bytes + 1);
    CHECK_THROWS_WITH(read_text(file),
                      file + ": error: is larger than 268435456 bytes, the most that is read");
}

TEST_CASE("what is only remembered is nothing where it cannot be read") {
    const auto folder = switchyard::test::temporary_dir("read");
    std::ofstream(folder / "a") << "text";
    CHECK(switchyard::base::text_if_readable((folder / "a").string()) == "text");
    CHECK(switchyard::base::text_if_readable((folder / "a").string(), 3).empty());
    CHECK(switchyard::base::text_if_readable(folder.string()).empty());
    CHECK(switchyard::base::text_if_readable((folder / "none").string()).empty());
}
