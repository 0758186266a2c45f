#include "core/kernel/machine/program_paths.h"

#include <cstdlib>
#include <filesystem>

namespace switchyard::machine {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// A relative path in either is to be ignored (XDG Base Directory Specification).
std::string folder_of_user(const char* name, const std::string& in_home) {
    if (const std::string folder = variable(name); folder.starts_with('/')) return folder + "/switchyard";
    const std::string home = variable("HOME");
    return home.starts_with('/') ? home + "/" + in_home + "/switchyard" : std::string{};
}

}  // namespace

std::string program_path() {
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/exe", error);
    return error ? std::string{} : path.string();
}

std::string installed_path(const std::string& relative) {
    return fs::path(SWITCHYARD_INSTALL_PREFIX) / relative;
}

std::string belonging_path(const std::string& relative) {
    const fs::path folder = fs::path(program_path()).parent_path();
    for (const fs::path& root :
         {folder.parent_path(), folder.parent_path().parent_path(), fs::path(SWITCHYARD_INSTALL_PREFIX)}) {
        std::error_code error;
        if (!root.empty() && fs::exists(root / relative, error)) return root / relative;
    }
    return {};
}

std::string standard_cache_folder() {
    if (const std::string folder = variable("SWITCHYARD_CACHE"); !folder.empty()) {
        std::error_code error;  // a working folder that is gone
        const fs::path path = fs::absolute(folder, error);
        return error ? std::string{} : path.string();
    }
    return folder_of_user("XDG_CACHE_HOME", ".cache");
}

std::string standard_settings_folder() { return folder_of_user("XDG_CONFIG_HOME", ".config"); }

}  // namespace switchyard::machine
