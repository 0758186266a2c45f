#include "core/workbench/report/run_origin.h"

namespace switchyard::report {

RunOrigin read_origin(const Json& record) {
    RunOrigin origin;
    origin.command = text_of(record, "command");
    origin.begun = text_of(record, "begun");
    const auto& program = member(record, "switchyard");
    origin.program = text_of(program, "version");
    if (const auto commit = text_of(program, "commit"); !commit.empty())
        origin.program += " (commit " + commit + ")";
    const auto& facts = member(record, "facts");
    origin.threads = shown(member(facts, "threads"));
    origin.cpu = text_of(facts, "cpu");
    origin.libtorch = text_of(facts, "libtorch");
    const auto& data = member(facts, "data");
    if (!data.is_object()) return origin;
    for (const auto& [key, files] : data.items()) {
        if (!files.is_array()) continue;
        for (const auto& file : files)
            origin.data.push_back({key, text_of(file, "path"), text_of(file, "xxh128")});
    }
    return origin;
}

}  // namespace switchyard::report
