// Runs the program that was built, as a user would.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace switchyard::test {

struct Outcome {
    int code = -1;  // exit code; -signal if it was killed
    std::string out;
    std::string err;
};

struct RunOptions {
    std::map<std::string, std::string> environment;  // on top of this process's own
};

// bin/switchyard of the build, in the root of the source tree.
Outcome run(const std::vector<std::string>& arguments, const RunOptions& options = {});

// Runs it with "--json -" and parses what it prints; the exit code must be `code`, and nothing else may be on the standard output.
nlohmann::json run_json(std::vector<std::string> arguments, int code = 0, const RunOptions& options = {});

// A file in a folder of the test, with that text.
std::string write_temporary(const std::string& file, const std::string& text);

}  // namespace switchyard::test
