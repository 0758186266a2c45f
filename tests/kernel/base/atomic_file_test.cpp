// Files that are whole or not there, and what a kill leaves beside them.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel/base/atomic_file.h"

#include <switchyard_test.h>

using namespace switchyard;
namespace fs = std::filesystem;
using Names = std::set<std::string>;

namespace {

Names names_in(const fs::path& folder) {
    Names names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// A process that is killed in the middle of writing `target`.
void write_and_die(const std::string& target) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        base::AtomicFile file(target);
        if (file.open() || file.write("half", 4)) _exit(1);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("a file is written whole, and one that is given up leaves nothing") {
    const auto folder = test::temporary_dir("atomic");
    const auto target = (folder / "a.txt").string();
    REQUIRE(base::write_file_atomically(target, "first") == std::nullopt);
    {
        base::AtomicFile file(target);
        REQUIRE(file.open() == std::nullopt);
        REQUIRE(file.write("second", 6) == std::nullopt);
        CHECK(text_of(target) == "first");
    }
    CHECK(text_of(target) == "first");
    CHECK(names_in(folder) == Names{"a.txt"});
}

TEST_CASE("what a kill left of a file is removed, and nothing that only looks like it") {
    const auto folder = test::temporary_dir("atomic");
    const auto target = (folder / "config.toml").string();
    REQUIRE(base::write_file_atomically(target, "whole") == std::nullopt);
    const Names others{"config.toml",      "config.toml.backup",    "config.toml.a1B2c3",
                       ".writing-",        ".writing-abcdef",       ".writing-notes.txt",
                       "writing-a-abcdef", ".writing-folder-abcdef"};
    for (const auto& name : others) {
        if (name == ".writing-folder-abcdef")
            fs::create_directory(folder / name);
        else if (name != "config.toml")
            std::ofstream(folder / name) << "theirs";
    }
    for (int i = 0; i < 2; ++i) write_and_die(target);
    write_and_die((folder / "other").string());
    CHECK(text_of(target) == "whole");
    REQUIRE(names_in(folder).size() == others.size() + 3);

    base::remove_unfinished(folder.string());
    CHECK(names_in(folder) == others);
    CHECK(text_of(target) == "whole");
    base::remove_unfinished((folder / "nowhere").string());
}
