// --jsonl FILE: results as JSON Lines (jsonlines.org), one object a line, written as they come, so that none
// of them stays in memory. "-" is the standard output, which then has nothing else on it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/base/atomic_file.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace switchyard::cli {

struct JsonLinesOption {
    std::string path;
    bool given() const { return !path.empty(); }
    bool on_stdout() const { return path == "-"; }
    // Whatever stops the command, the file is as it was until all is written.
    bool replaces_file() const { return given() && !on_stdout(); }
};
CLI::Option* add_json_lines(CLI::App& command, JsonLinesOption& option);

// Does nothing where they were not asked for. All throw Failure where something cannot be written.
class JsonLines {
public:
    explicit JsonLines(const JsonLinesOption& option);
    void add(const nlohmann::ordered_json& line);
    // Writes what was added.
    void flush();
    // All is written: the file becomes what FILE names.
    void finish();

private:
    const JsonLinesOption& option_;
    base::AtomicFile file_;
    std::string unwritten_;
};

}  // namespace switchyard::cli
