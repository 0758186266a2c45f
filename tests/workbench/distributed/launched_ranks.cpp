#include "launched_ranks.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

namespace switchyard::test {

Words launched(Words train, int ranks, const Words& options) {
    Words words{"launch", "-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), train.begin(), train.end());
    return words;
}

bool is_alive(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.substr(name_end + 2, 1) != "Z";
}

std::vector<pid_t> ranks_of(pid_t launcher) {
    std::vector<std::pair<std::string, pid_t>> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (!std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; })) continue;
        std::ifstream stat(entry.path() / "stat");
        std::string text((std::istreambuf_iterator<char>(stat)), {});
        const auto name_end = text.rfind(')');
        if (name_end == std::string::npos) continue;
        std::istringstream rest(text.substr(name_end + 1));
        std::string state;
        pid_t parent = 0;
        rest >> state >> parent;
        if (parent != launcher) continue;
        std::ifstream environment(entry.path() / "environ");
        std::string variables((std::istreambuf_iterator<char>(environment)), {});
        const auto at = variables.find("LOCAL_RANK=");
        if (at == std::string::npos) continue;
        found.emplace_back(variables.substr(at + 11, variables.find('\0', at) - at - 11), std::stoi(name));
    }
    std::ranges::sort(found);
    std::vector<pid_t> ranks;
    for (const auto& [rank, process] : found) ranks.push_back(process);
    return ranks;
}

bool has_checkpoint(const fs::path& run) { return fs::exists(run) && !checkpoints(run).empty(); }

}  // namespace switchyard::test
