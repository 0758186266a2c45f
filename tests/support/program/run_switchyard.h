// Runs the program that was built, as a user would.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json.hpp>

namespace switchyard::test {

struct Outcome {
    int code = -1;  // exit code; -signal if it was killed
    std::string out;
    std::string err;
};

struct RunOptions {
    std::map<std::string, std::string> environment;  // on top of this process's own
    std::string input = {};                          // file that is its standard input; empty: this process's
    std::string folder = {};                         // it runs there; empty: in one that has `configs` alone
    std::function<void()> in_child = {};             // called in the new process before the program starts
};

// In a new process: becomes the program, with what the options say of environment, input and folder.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const RunOptions& options);

// As become(), from a process that has LibTorch's start behind it (warm_program.h): the new process, a
// child of this one, or below 0 where it has to be started from the beginning. `terminal`: `out` is one, of
// a session of its own.
pid_t start_warm(const std::vector<std::string>& arguments, const RunOptions& options, int out, int err,
                 bool terminal);

// A program that is running: for tests that send it signals, none of which it ignores, whatever this process
// does. Killed if it is not waited for.
class Started {
public:
    Started(const std::vector<std::string>& arguments, const RunOptions& options = {});
    ~Started();
    Started(const Started&) = delete;
    Started& operator=(const Started&) = delete;

    pid_t process() const { return child_; }
    void send(int signal) const;
    bool ended();                // without waiting
    bool stop();                 // by SIGSTOP, and waits until it stands still; false: it has ended
    std::string errors() const;  // what it has written to its standard error by now
    Outcome wait();

private:
    pid_t child_ = -1;
    int status_ = 0;
    bool reaped_ = false;
    std::filesystem::path folder_;
};

// bin/switchyard of the build, not in the source tree: what it writes without being told where does not come
// there, and what lies there does not matter.
Outcome run(const std::vector<std::string>& arguments, const RunOptions& options = {});

// Another program, which is in PATH, with its words behind its name.
bool in_path(const std::string& program);
Outcome run_program(const std::vector<std::string>& words);

// Runs it with "--json -" and parses what it prints; the exit code must be `code`, and nothing else may be on
// the standard output.
nlohmann::json run_json(std::vector<std::string> arguments, int code = 0, const RunOptions& options = {});

// A folder for SWITCHYARD_CACHE in which nothing is measured yet, but all plugins are probed: that takes a
// process for each.
std::string cache_without_measurements();

// A number that a variable of the environment sets, as .ci/nightly does.
long from_environment(const char* name, long otherwise);

// A file in a folder of the test, with that text.
std::string write_temporary(const std::string& file, const std::string& text);

}  // namespace switchyard::test
