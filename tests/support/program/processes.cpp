#include "processes.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace switchyard::test {
namespace {

struct ProcessState {
    char letter = 'Z';  // it has ended, or there is none
    pid_t parent = -1;
};

// Of /proc/PID/stat: what stands behind the name of the program, which may hold anything.
ProcessState process_state(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');
    ProcessState state;
    if (name_end != std::string::npos)
        std::istringstream(text.substr(name_end + 1)) >> state.letter >> state.parent;
    return state;
}

}  // namespace

bool is_alive(pid_t process) { return process_state(std::to_string(process)).letter != 'Z'; }

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto state = process_state(name);
        if (state.parent == parent && state.letter != 'Z') found.push_back(std::stoi(name));
    }
    return found;
}

}  // namespace switchyard::test
