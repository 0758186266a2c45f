// The data sets that can be fetched for the configurations that come with the program.
#pragma once

#include <string>
#include <vector>

namespace switchyard::cli {

struct DataSet {
    std::string name, config, megabytes, what;
    bool there = false;  // all of it, as it is pinned
};

struct DataSets {
    std::vector<DataSet> sets;
    std::string folder;  // that they are fetched into, below data/
    std::string pins;    // the list of what each is made of
    std::string script;  // that fetches them
};

// `folder`: empty: $SWITCHYARD_DEPS, or where those configurations look for them. Throws Failure where this
// program's files are not beside it.
DataSets data_sets(const std::string& folder);

// What brings a file of those configurations that is not there, where `text` names one: "`switchyard data
// fetch NAME` brings it"; empty: it names none, or the file would not come to its place.
std::string how_to_fetch(const std::string& text);

}  // namespace switchyard::cli
