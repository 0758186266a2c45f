// The places of all members that were promised stand in stable_layout.txt. What a change moves is told by
// name. A member that is added at the end gets a line in stable_members.inc and, from what the test prints,
// in the text.
#include <cstddef>
#include <cstdlib>

#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/stable_abi.h>

#include "fixture.h"
#include "promised_text.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

PromisedLayout layout_here() {
    PromisedLayout layout;
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

}  // namespace

TEST_CASE("no member of a structure that plugins are built with has moved") {
    const auto file = source_dir() / "tests/hostile/stable/stable_layout.txt";
    CHECK(differences(promised_layout(read_file(file)), layout_here()) == "");
}

TEST_CASE("a member that moved, went or came is told by its name") {
    const PromisedLayout promised{{"A", "16 bytes"}, {"A.x", "at 0, 8 bytes"}, {"A.y", "at 8, 8 bytes"}};
    const PromisedLayout here{{"A", "16 bytes"}, {"A.x", "at 8, 8 bytes"}, {"A.z", "at 0, 8 bytes"}};
    CHECK(differences(promised, here) ==
          "A.x is now at 8, 8 bytes, promised at 0, 8 bytes\n"
          "A.y is gone, which was promised at 8, 8 bytes\n"
          "A.z is not in the text yet: A.z: at 0, 8 bytes\n");
    CHECK(differences(promised, promised).empty());
}
