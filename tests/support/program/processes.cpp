#include "processes.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace switchyard::test {
namespace {

struct ProcessState {
    char letter = 'Z';  // it has ended, or there is none
    pid_t parent = -1;
};

// Of /proc/PID/stat: what stands behind the name of the program, which may hold anything.
ProcessState process_state(pid_t process) {
    const auto text = told_by_proc(process, "stat");
    const auto name_end = text.rfind(')');
    ProcessState state;
    if (name_end != std::string::npos)
        std::istringstream(text.substr(name_end + 1)) >> state.letter >> state.parent;
    return state;
}

}  // namespace

// Of a process that ends between opening and reading an iterator over the file's buffer would throw.
std::string told_by_proc(pid_t process, const std::string& file) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/" + file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::vector<pid_t> all_processes() {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) found.push_back(std::stoi(name));
    }
    return found;
}

bool is_alive(pid_t process) { return process_state(process).letter != 'Z'; }

bool is_arm(pid_t process) {
    using std::string_view_literals::operator""sv;
    return told_by_proc(process, "cmdline").ends_with("/switchyard-run\0arm\0"sv);
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> found;
    for (const auto process : all_processes()) {
        const auto state = process_state(process);
        if (state.parent == parent && state.letter != 'Z') found.push_back(process);
    }
    return found;
}

}  // namespace switchyard::test
