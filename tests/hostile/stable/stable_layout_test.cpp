// The places of all members that were promised stand in stable_layout.txt. What a change moves is told by
// name. A member that is added at the end gets a line in stable_members.inc and, from what the test prints,
// in the text.
#include <cstddef>
#include <cstdlib>
#include <map>
#include <sstream>

#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/stable_abi.h>

#include "fixture.h"

#include <switchyard_test.h>

namespace {

// "SwitchyardStablePlugin.magic" -> "at 0, 8 bytes"
using Layout = std::map<std::string, std::string>;

Layout layout_here() {
    Layout layout;
    const auto add = [&](const std::string& what, std::size_t at, std::size_t bytes) {
        layout[what] = "at " + std::to_string(at) + ", " + std::to_string(bytes) + " bytes";
    };
#define SIZE(Type) layout[#Type] = std::to_string(sizeof(Type)) + " bytes";
#define MEMBER(Type, member) add(#Type "." #member, offsetof(Type, member), sizeof(Type::member));
#include "stable_members.inc"
#undef MEMBER
#undef SIZE
    return layout;
}

Layout layout_in(const std::string& text) {
    Layout layout;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(": ");
        if (colon != std::string::npos) layout[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return layout;
}

std::string differences(const Layout& promised, const Layout& here) {
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

}  // namespace

TEST_CASE("no member of a structure that plugins are built with has moved") {
    const auto file = switchyard::test::source_dir() / "tests/hostile/stable/stable_layout.txt";
    CHECK(differences(layout_in(switchyard::test::read_file(file)), layout_here()) == "");
}

TEST_CASE("a member that moved, went or came is told by its name") {
    const Layout promised{{"A", "16 bytes"}, {"A.x", "at 0, 8 bytes"}, {"A.y", "at 8, 8 bytes"}};
    const Layout here{{"A", "16 bytes"}, {"A.x", "at 8, 8 bytes"}, {"A.z", "at 0, 8 bytes"}};
    CHECK(differences(promised, here) ==
          "A.x is now at 8, 8 bytes, promised at 0, 8 bytes\n"
          "A.y is gone, which was promised at 8, 8 bytes\n"
          "A.z is not in the text yet: A.z: at 0, 8 bytes\n");
    CHECK(differences(promised, promised).empty());
}
