// Whether tags are balanced, as XML wants them: the pages are written so.
#pragma once

#include <string>
#include <vector>

namespace switchyard::test {

// What is wrong first, or "".
inline std::string unbalanced(const std::string& html) {
    std::vector<std::string> open;
    for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
        const auto end = html.find('>', at);
        if (end == std::string::npos) return "no end: " + html.substr(at, 40);
        const auto tag = html.substr(at + 1, end - at - 1);
        at = end;
        if (tag.find('<') != std::string::npos) return "< within <" + tag + ">";
        if (tag.starts_with('!') || tag.ends_with('/')) continue;
        const auto name = tag.substr(0, tag.find_first_of(" \n"));
        if (!tag.starts_with('/')) {
            open.push_back(name);
        } else if (open.empty() || "/" + open.back() != name) {
            return "<" + tag + "> closes " + (open.empty() ? "nothing" : open.back());
        } else {
            open.pop_back();
        }
    }
    return open.empty() ? "" : "open: " + open.back();
}

}  // namespace switchyard::test
