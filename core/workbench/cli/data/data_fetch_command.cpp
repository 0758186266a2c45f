// switchyard data list, switchyard data fetch NAME
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/data/data_sets.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

struct FetchOptions {
    std::string name;
    std::string folder;
    JsonOption json;
};

void add_folder(CLI::App& command, std::string& folder) {
    command
        .add_option(
            "--to", folder,
            "the folder, below which data/ holds the files; default: SWITCHYARD_DEPS of the environment, or "
            "where the configurations that come with the program look")
        ->type_name("FOLDER");
}

int list_sets(const FetchOptions& options) {
    const auto all = data_sets(options.folder);
    Table table({"name", "configuration", "MB", "there", "what it is"});
    auto json = nlohmann::ordered_json::array();
    for (const auto& set : all.sets) {
        table.row({set.name, "configs/" + set.config, set.megabytes,
                   set.there ? paint(Color::green, "yes") : Text("no"), set.what});
        json.push_back({{"name", set.name},
                        {"config", set.config},
                        {"megabytes", std::atof(set.megabytes.c_str())},
                        {"there", set.there},
                        {"what", set.what}});
    }
    write_json(options.json, {{"folder", all.folder + "/data"}, {"sets", std::move(json)}});
    if (options.json.on_stdout()) return Exit::fine;
    std::cout << table.render() << "\nin " << all.folder
              << "/data; `switchyard data fetch NAME` brings one\n";
    return Exit::fine;
}

// Waits for the script, which says itself what it does.
int run_script(const DataSets& all, const std::string& name) {
    const pid_t child = fork();
    if (child == 0) {
        execl(all.script.c_str(), all.script.c_str(), all.pins.c_str(), all.folder.c_str(), name.c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0) throw Failure("cannot run " + all.script + ": " + std::strerror(errno), Exit::run_failed);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

int fetch_set(const FetchOptions& options) {
    const auto all = data_sets(options.folder);
    const auto set = std::ranges::find(all.sets, options.name, &DataSet::name);
    if (set == all.sets.end()) {
        std::vector<std::string> names;
        for (const auto& known : all.sets) names.push_back(known.name);
        const auto near = config::suggest(options.name, names);
        throw Failure("there is no data set \"" + base::quoted(options.name) + "\"; expected one of " +
                      joined(names) + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    const auto folder = all.folder + "/data";
    if (!set->there) {
        if (const int code = run_script(all, set->name); code != 0)
            throw Failure(set->name + " was not fetched: see the message above",
                          code > 128 ? code : Exit::run_failed);
    }
    write_json(options.json, {{"name", set->name}, {"folder", folder}, {"was_there", set->there}});
    if (!options.json.on_stdout())
        std::cout << set->name << (set->there ? " was there already: " : ": ") << "the files of configs/"
                  << set->config << " are in " << folder << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_data_list(CLI::App& command) {
    const auto options = std::make_shared<FetchOptions>();
    add_folder(command, options->folder);
    add_json(command, options->json);
    return [options] { return list_sets(*options); };
}

Action setup_data_fetch(CLI::App& command) {
    const auto options = std::make_shared<FetchOptions>();
    command.add_option("NAME", options->name, "one of those that `switchyard data list` lists")
        ->required()
        ->type_name("");
    add_folder(command, options->folder);
    add_json(command, options->json);
    return [options] { return fetch_set(*options); };
}

}  // namespace switchyard::cli
