// Broken input of every kind: it may be refused, with a place, but nothing else may happen. Run it in the
// asan preset after changes to the guards or the reader.
#include <random>

#include "config_test.h"

#include <switchyard_test.h>

using switchyard::config::LoadResult;
using switchyard::test::load_text;

namespace {

constexpr char valid[] = R"(# a comment with "quotes" and [brackets]
preset = "t5-small"
[model]
layers = 4
norm_eps = 1.5e-6
"hidden_size" = 512
[attention]
backend = ["flash", 'torch/sdpa', "naive"]
options.chunked = {chunk_size = 64, mode = "keys"}
[optimizer]
betas = [
    0.9,   # first
    0.95,
]
[[layer]]
match = "decoder.0-2"
attention.backend = """naive"""
[[layer]]
match = 'encoder.*'
model.window = 0x10
)";

// Refused or not: a result is a configuration, or problems that all have a place and can be printed.
void check_result(const LoadResult& result, const std::string& text) {
    bool sound = result.config.has_value() == result.problems.empty();
    for (const auto& problem : result.problems) {
        const bool placed = (problem.line >= 1 && problem.column >= 1) ||
                            switchyard::test::contains(" more problems").match(problem.message);
        sound = sound && !problem.file.empty() && !problem.message.empty() && placed;
    }
    sound = sound && switchyard::config::render(result.problems).empty() == result.problems.empty();
    if (sound) return;
    CAPTURE(text, switchyard::config::render(result.problems));
    CHECK(sound);
}

}  // namespace

TEST_CASE("every truncation of a valid file loads or says where it breaks off") {
    const std::string text = valid;
    REQUIRE(load_text(text).config);
    for (std::size_t size = 0; size <= text.size(); ++size)
        check_result(load_text(text.substr(0, size)), text.substr(0, size));
}

TEST_CASE("random changes of bytes never do more than fail") {
    std::mt19937 random(20240607);
    const std::string original = valid;
    const std::string special =
        std::string("[]{}=.,\"'#\\\n\r\t -+_e09ax", 24) + std::string("\0\xff\xc3\x80", 4);
    for (int round = 0; round < 4000; ++round) {
        std::string text = original;
        const int changes = 1 + static_cast<int>(random() % 4);
        for (int change = 0; change < changes; ++change) {
            const std::size_t at = random() % text.size();
            const char byte =
                random() % 2 == 0 ? special[random() % special.size()] : static_cast<char>(random() % 256);
            switch (random() % 4) {
                case 0:
                    text[at] = byte;
                    break;
                case 1:
                    text.insert(at, 1, byte);
                    break;
                case 2:
                    text.erase(at, 1 + random() % 3);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 40));
                    break;
            }
        }
        check_result(load_text(text), text);
    }
}

TEST_CASE("texts that are made of one thing only") {
    const std::size_t size = 200'000;
    for (const std::string piece : {"[",
                                    "]",
                                    "{",
                                    "}",
                                    "\"",
                                    "'",
                                    "\"\"\"",
                                    "'''",
                                    "#",
                                    "\\",
                                    "=",
                                    ".",
                                    ",",
                                    "\n",
                                    "\r",
                                    "\r\n",
                                    " ",
                                    "a",
                                    "a=1\n",
                                    "[a]\n",
                                    "[[layer]]\n",
                                    "a.b=1\n",
                                    "a=[\n",
                                    "a={b=1}\n",
                                    "\"\\",
                                    "0",
                                    "1e",
                                    "x=\"\"\"\n",
                                    "[[a]]\n[[a.b]]\n",
                                    "\xef\xbb\xbf",
                                    "é",
                                    "a = 1 #"}) {
        std::string text;
        while (text.size() < size) text += piece;
        check_result(load_text(text), piece);
    }
}

TEST_CASE("a great many rules and a great many keys are handled in reasonable time") {
    std::string rules;
    for (int i = 0; i < 20'000; ++i) rules += "[[layer]]\nmatch=\"*\"\nmodel.window=1\n";
    CHECK_THAT(switchyard::test::errors(rules),
               switchyard::test::contains(
                   "run.toml:3001:1: error: layer: there are too many rules; expected at most 1000\n"));
    std::string options = "[attention.options.x]\n";
    for (int i = 0; i < 50'000; ++i) options += std::to_string(i) + "=1\n";
    REQUIRE(load_text(options).config);
    CHECK(load_text(options).config->attention.options.at("x").values().size() == 50'000);
}
