// How a run was begun: record.json, as far as a report tells it.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/report/record_json.h"

namespace switchyard::report {

struct DataFile {
    std::string key;   // "data.train"
    std::string path;  // as the configuration had it
    std::string hash;  // XXH3 of 128 bits; empty: not known
};

struct RunOrigin {
    std::string command;  // as a shell takes it
    std::string begun;    // "2026-03-01T14:05:09Z"
    std::string program;  // version and commit of the program that began it
    std::string threads, cpu, libtorch;
    std::vector<DataFile> data;
};

// What is missing or of another type is left empty.
RunOrigin read_origin(const Json& record);

}  // namespace switchyard::report
