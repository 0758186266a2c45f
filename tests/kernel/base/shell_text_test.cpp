// Words through a real shell and back.
#include <array>
#include <cstdio>

#include "core/kernel/base/shell_text.h"

#include <switchyard_test.h>

using switchyard::base::shell_word;

TEST_CASE("a shell reads a quoted word back") {
    for (const std::string word :
         {"train", "", "a b", "model.labels=[\"x\", \"y\"]", "it's", "''", "$HOME", "`id`", "a\\b", "*", "~",
          "line\nline", "--arm=NAME: KEY=VALUE", "#not a comment", "!history", "grün"}) {
        CAPTURE(word);
        const auto command = "printf %s " + shell_word(word);
        auto* const shell = ::popen(command.c_str(), "r");
        REQUIRE(shell != nullptr);
        std::array<char, 256> text{};
        const auto count = std::fread(text.data(), 1, text.size(), shell);
        CHECK(::pclose(shell) == 0);
        CHECK(std::string(text.data(), count) == word);
    }
    CHECK(shell_word("--set=a.b=1,2") == "--set=a.b=1,2");
    CHECK(shell_word("two words") == "'two words'");
}
