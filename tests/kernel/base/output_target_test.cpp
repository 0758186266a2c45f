// Outputs to names that are no regular file: each stays what it was, and what was written comes out at its
// other end.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/output_target.h"
#include "core/kernel/base/standard_descriptors.h"

#include <switchyard_test.h>

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::string left_in(int descriptor) {
    std::string text(64, '\0');
    const auto count = ::read(descriptor, text.data(), text.size());
    REQUIRE(count >= 0);
    text.resize(static_cast<std::size_t>(count));
    return text;
}

std::size_t entries(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string descriptor_name(const char* folder, int descriptor) {
    return folder + std::to_string(descriptor);
}

// The exit code of a process that does this.
int code_of(const std::function<int()>& work) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(work());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a FIFO gets what is written, and stays") {
    const auto folder = test::temporary_dir("output");
    const auto fifo = folder / "fifo", link = folder / "link";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    fs::create_symlink("fifo", link);
    for (const auto& name : {fifo, link}) {
        std::string got;
        std::thread reader([&] { got = text_of(fifo); });
        const auto error = base::write_file_atomically(name.string(), "through\n");
        reader.join();
        CHECK(error == std::nullopt);
        CHECK(got == "through\n");
        CHECK(fs::is_fifo(fifo));
    }
    CHECK(entries(folder) == 2);
}

TEST_CASE("a device is written to, and its error told") {
    struct stat before {};
    REQUIRE(stat("/dev/null", &before) == 0);
    CHECK(base::write_file_atomically("/dev/null", "nowhere") == std::nullopt);
    CHECK(base::write_file_atomically("/dev/full", "nowhere") ==
          "cannot write /dev/full: No space left on device");
    CHECK(fs::is_character_file("/dev/full"));
    CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a descriptor of this process is written to under each of its names, and at its position") {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);  // which cannot be opened by a name
    for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
        CHECK(base::write_file_atomically(descriptor_name(folder, ends[0]), "x") == std::nullopt);
        CHECK(left_in(ends[1]) == "x");
    }
    const auto at = test::temporary_dir("output") / "file";
    const int file = open(at.c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(write(file, "before ", 7) == 7);
    CHECK(base::write_file_atomically(descriptor_name("/dev/fd/", file), "it ") == std::nullopt);
    REQUIRE(write(file, "after", 5) == 5);
    CHECK(text_of(at) == "before it after");
    for (const int descriptor : {ends[0], ends[1], file}) close(descriptor);
    const auto closed = descriptor_name("/dev/fd/", file);
    CHECK(base::write_file_atomically(closed, "x") == "cannot write " + closed + ": Bad file descriptor");
}

TEST_CASE("the standard output is written to, not replaced") {
    const auto at = test::temporary_dir("output") / "out";
    const int code = code_of([&] {
        dup2(open(at.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
        if (write(STDOUT_FILENO, "first ", 6) != 6) return 1;
        return base::write_file_atomically("/dev/stdout", "second") ? 2 : 0;
    });
    CHECK(code == 0);
    CHECK(text_of(at) == "first second");
}

TEST_CASE("a symbolic link stays, and the file that it leads to is replaced as a whole") {
    const auto folder = test::temporary_dir("output");
    fs::create_directory(folder / "there");
    std::ofstream(folder / "there/old") << "old";
    fs::create_symlink("there/old", folder / "link");
    fs::create_symlink("link", folder / "link_to_link");
    fs::create_symlink((folder / "there/new").string(), folder / "dangling");
    const fs::path before = folder / "there/old";
    std::ifstream reading(before);
    REQUIRE(base::write_file_atomically((folder / "link_to_link").string(), "new") == std::nullopt);
    REQUIRE(base::write_file_atomically((folder / "dangling").string(), "made") == std::nullopt);
    CHECK(fs::read_symlink(folder / "link_to_link") == "link");
    CHECK(fs::read_symlink(folder / "link") == "there/old");
    CHECK(text_of(before) == "new");
    CHECK(text_of(folder / "there/new") == "made");
    CHECK(fs::is_symlink(folder / "dangling"));
    // Whoever had opened it reads what was there.
    std::string old;
    reading >> old;
    CHECK(old == "old");
    CHECK(entries(folder / "there") == 2);
    fs::create_symlink("round", folder / "round");
    CHECK_THAT(*base::write_file_atomically((folder / "round").string(), "x"),
               test::contains("Too many levels of symbolic links"));
}

TEST_CASE("a folder is refused, and a file keeps who may read it") {
    const auto folder = test::temporary_dir("output");
    CHECK(base::write_file_atomically(folder.string(), "x") ==
          "cannot write " + folder.string() + ": it is a directory");
    const auto file = folder / "secret";
    std::ofstream(file) << "old";
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    REQUIRE(base::write_file_atomically(file.string(), "new") == std::nullopt);
    CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(text_of(file) == "new");
}

TEST_CASE("a name of the longest kind is written") {
    const auto file = test::temporary_dir("output") / std::string(255, 'n');
    CHECK(base::write_file_atomically(file.string(), "x") == std::nullopt);
    CHECK(text_of(file) == "x");
}

TEST_CASE("standard descriptors that are missing are opened, and those that are there left alone") {
    for (int missing = 0; missing < 8; ++missing) {
        INFO("missing: " << missing);
        const int code = code_of([&] {
            const int folder = open("/", O_RDONLY);
            for (int descriptor = 0; descriptor < 3; ++descriptor) dup2(folder, descriptor);
            for (int descriptor = 0; descriptor < 3; ++descriptor) {
                if ((missing >> descriptor & 1) != 0) close(descriptor);
            }
            base::open_standard_descriptors();
            for (int descriptor = 0; descriptor < 3; ++descriptor) {
                struct stat there {};
                if (fstat(descriptor, &there) != 0) return 1;
                const bool opened = (missing >> descriptor & 1) != 0;
                if (opened ? !S_ISCHR(there.st_mode) : !S_ISDIR(there.st_mode)) return 2;
                if (opened && write(descriptor, "x", 1) != 1) return 3;
            }
            return 0;
        });
        CHECK(code == 0);
    }
}

TEST_CASE("an output that is open already can be written, wherever its file is") {
    const auto folder = test::temporary_dir("gone");
    const int descriptor = open((folder / "a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(descriptor >= 0);
    std::filesystem::remove_all(folder);
    CHECK(base::why_not_writable("/dev/fd/" + std::to_string(descriptor)).empty());
    CHECK(base::why_not_writable(folder / "a") == "No such file or directory");
    close(descriptor);
}
