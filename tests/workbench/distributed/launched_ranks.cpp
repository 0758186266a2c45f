#include "launched_ranks.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <switchyard_test.h>

namespace switchyard::test {

Words launched(Words train, int ranks, const Words& options) {
    Words words{"launch", "-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), train.begin(), train.end());
    return words;
}

std::vector<pid_t> ranks_of(pid_t launcher) {
    std::vector<std::pair<std::string, pid_t>> found;
    for (const auto process : children_of(launcher)) {
        std::ifstream environment("/proc/" + std::to_string(process) + "/environ");
        std::string variables((std::istreambuf_iterator<char>(environment)), {});
        const auto at = variables.find("LOCAL_RANK=");
        if (at == std::string::npos) continue;
        found.emplace_back(variables.substr(at + 11, variables.find('\0', at) - at - 11), process);
    }
    std::ranges::sort(found);
    std::vector<pid_t> ranks;
    for (const auto& [rank, process] : found) ranks.push_back(process);
    return ranks;
}

bool has_checkpoint(const fs::path& run) { return fs::exists(run) && !checkpoints(run).empty(); }

void check_losses(const Losses& found, const Losses& expected, double allowed) {
    REQUIRE(found.size() == expected.size());
    for (const auto& [step, loss] : expected) CHECK(found.at(step) == Approx(loss).epsilon(allowed));
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace switchyard::test
