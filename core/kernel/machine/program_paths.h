// Finding what belongs to this program, its user's cache and settings. The build tree and the installed tree
// have the same folders: bin, lib, libexec, share.
#pragma once

#include <string>

namespace switchyard::machine {

// The file that this process runs; empty if it cannot be told.
std::string program_path();

// `relative` ("share/switchyard/configs") under one of the two folders above that of the program - which may
// lie in bin or in libexec/switchyard -, or under the place where Switchyard was installed. Empty if it is in
// none of them.
std::string belonging_path(const std::string& relative);

// Where `cmake --install` puts `relative`, whether it is there or not.
std::string installed_path(const std::string& relative);

// $SWITCHYARD_CACHE, made absolute, $XDG_CACHE_HOME/switchyard or ~/.cache/switchyard; empty: there is none,
// as a relative path in the last two counts as none.
std::string standard_cache_folder();

// $XDG_CONFIG_HOME/switchyard or ~/.config/switchyard: what a user set for all jobs; empty: there
// is none, as above.
std::string standard_settings_folder();

}  // namespace switchyard::machine
