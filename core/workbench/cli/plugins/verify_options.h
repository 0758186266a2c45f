// --option [COMPONENT.]NAME=VALUE of `switchyard plugins verify`: options of the components under test, held
// against what these declare.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/options.h>
#include "core/kernel/config/document.h"
#include "core/kernel/loader/manifest.h"

namespace switchyard::cli {

class GivenOptions {
public:
    // Throws Failure with everything that is wrong with any of the texts: no such component or option among
    // `components`, a value that the option does not take, an option that is given twice.
    GivenOptions(const std::vector<std::string>& texts,
                 const std::vector<const ComponentManifest*>& components);

    // Of one of the components: what it declares as defaults, with what was given.
    Options of(const ComponentManifest& component) const;
    // "chunk_size=64", ...: what was given for it.
    std::vector<std::string> texts_of(const ComponentManifest& component) const;

private:
    using Components = std::vector<const ComponentManifest*>;

    void read(const std::string& text, const std::string& place, const Components& components);
    void take(const config::Node& option, const std::string& path, const std::string& place,
              const Components& components);
    void complain(const std::string& place, const std::string& key, const std::string& message,
                  const std::string& expected, const std::string& hint);

    std::map<const ComponentManifest*, std::map<std::string, OptionValue>> given_;
    std::vector<config::Problem> problems_;
};

}  // namespace switchyard::cli
