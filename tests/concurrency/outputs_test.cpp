// Outputs of commands to names that are no regular file, and of several commands to one name.
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tiny_job.h"
#include "waiting.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Commands whose output is the same each time, but for its name.
const Words schema{"config", "schema", "--json"};
const Words saved_plan{"plan", "configs/demo.toml", "--save"};
const Words markdown{"config", "schema", "--markdown"};

Words to(Words words, const std::string& name) {
    words.push_back(name);
    return words;
}

std::string output_of(const Words& words) {
    const auto file = temporary_dir("outputs") / "file";
    REQUIRE(run(to(words, file.string())).code == 0);
    return bytes_of(file);
}

}  // namespace

TEST_CASE("outputs go into a FIFO, and it stays one") {
    const auto fifo = temporary_dir("outputs") / "fifo";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    for (const auto& words : {schema, saved_plan, markdown}) {
        INFO(words.back());
        const auto expected = output_of(words);
        std::string got;
        Started started(to(words, fifo.string()));
        std::thread reader([&] { got = bytes_of(fifo); });
        CHECK(started.wait().code == 0);
        // Where it was replaced, the reader still waits for somebody.
        if (!fs::is_fifo(fifo)) FAIL("the FIFO has been replaced");
        reader.join();
        const bool same = got == expected;
        CHECK(same);
        CHECK(fs::is_fifo(fifo));
    }
}

TEST_CASE("outputs go to the standard output and to other descriptors by their names") {
    const auto expected = output_of(schema);
    const auto outcome = run(to(schema, "/dev/stdout"));
    CHECK(outcome.code == 0);
    const bool whole = outcome.out.find(expected) != std::string::npos;  // beside what the command prints
    CHECK(whole);

    const auto file = temporary_dir("outputs") / "file";
    std::ofstream(file) << "before\n";
    RunOptions options;
    options.in_child = [&] { dup2(open(file.c_str(), O_WRONLY | O_APPEND), 9); };
    CHECK(run(to(schema, "/dev/fd/9"), options).code == 0);
    const bool appended = bytes_of(file) == "before\n" + expected;
    CHECK(appended);
    CHECK_THAT(run(to(schema, "/dev/fd/9")).err, contains("cannot write /dev/fd/9: Bad file descriptor"));
}

TEST_CASE("an output to a device that is full is an error, and the device stays") {
    const auto outcome = run(to(schema, "/dev/full"));
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains("error: cannot write /dev/full: No space left on device\n"));
    CHECK(fs::is_character_file("/dev/full"));
    CHECK(run(to(schema, "/dev/null")).code == 0);
    CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("an output through a symbolic link replaces what it leads to") {
    const auto folder = temporary_dir("outputs");
    fs::create_symlink("file", folder / "link");
    for (int i = 0; i < 2; ++i) {  // a new file, and one that is there
        CHECK(run(to(schema, (folder / "link").string())).code == 0);
        CHECK(fs::read_symlink(folder / "link") == "file");
        const bool same = bytes_of(folder / "file") == output_of(schema);
        CHECK(same);
    }
}

TEST_CASE("a signal ends a command that waits for a reader of its output") {
    if (!system_says_where_processes_wait()) return skip("the system does not say where a process waits");
    const auto fifo = temporary_dir("outputs") / "fifo";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    Started started(to(schema, fifo.string()));
    REQUIRE(wait_until([&] { return started.ended() || waits_for_other_end(started.process()); }));
    started.send(SIGTERM);
    CHECK(started.wait().code == -SIGTERM);
}

TEST_CASE("of several commands that write one file, readers see one whole or another") {
    const auto file = temporary_dir("outputs") / "file";
    const auto json = output_of(schema), table = output_of(markdown);
    std::ofstream(file) << json;
    std::vector<std::unique_ptr<Started>> writers;
    for (int i = 0; i < 6; ++i)
        writers.push_back(std::make_unique<Started>(to(i % 2 == 0 ? schema : markdown, file.string())));
    int mixed = 0;
    for (bool running = true; running;) {
        running = false;
        for (auto& writer : writers) running = !writer->ended() || running;
        const auto text = bytes_of(file);
        mixed += text == json || text == table ? 0 : 1;
    }
    CHECK(mixed == 0);
    for (auto& writer : writers) CHECK(writer->wait().code == 0);
    CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
}
