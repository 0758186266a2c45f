#include "promised_text.h"

#include <sstream>

namespace switchyard::test {

PromisedLayout promised_layout(const std::string& text) {
    PromisedLayout layout;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(": ");
        if (colon != std::string::npos) layout[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return layout;
}

std::string differences(const PromisedLayout& promised, const PromisedLayout& here) {
    std::string text;
    for (const auto& [what, where] : promised) {
        const auto found = here.find(what);
        if (found == here.end())
            text += what + " is gone, which was promised " + where + "\n";
        else if (found->second != where)
            text += what + " is now " + found->second + ", promised " + where + "\n";
    }
    for (const auto& [what, where] : here) {
        if (!promised.contains(what)) text += what + " is not in the text yet: " + what + ": " + where + "\n";
    }
    return text;
}

}  // namespace switchyard::test
