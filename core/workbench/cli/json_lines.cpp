#include "core/workbench/cli/json_lines.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

void require_none(const base::FileError& error) {
    if (error) throw Failure(*error, Exit::run_failed);
}

}  // namespace

CLI::Option* add_json_lines(CLI::App& command, JsonLinesOption& option) {
    return command
        .add_option("--jsonl", option.path,
                    "write the results as JSON Lines, one object a line, as they come; - is the standard "
                    "output")
        ->check(output_file())
        ->type_name("FILE");
}

JsonLines::JsonLines(const JsonLinesOption& option) : option_(option), file_(option.path) {
    if (option_.replaces_file()) require_none(file_.open());
}

void JsonLines::add(const nlohmann::ordered_json& line) {
    if (option_.given()) unwritten_ += json_text(line, -1);
}

void JsonLines::flush() {
    if (option_.on_stdout()) write_json_to_stdout(unwritten_);
    if (option_.replaces_file()) require_none(file_.write(unwritten_.data(), unwritten_.size()));
    unwritten_.clear();
}

void JsonLines::finish() {
    flush();
    if (option_.replaces_file()) require_none(file_.commit());
}

}  // namespace switchyard::cli
