// Against Hugging Face's tokenizers itself, where Python has it (the interpreter that SWITCHYARD_PYTHON
// names, else python3): 10,000 random texts, and real ones where they are.
//
// What is known to differ is not drawn: code points that came after Unicode 14. PCRE2 of Debian 12 has 14,
// utf8proc 15, the peer's parts 8 to 17; all else must be the same.
#include <cstdlib>
#include <random>

#include <utf8proc.h>

#include "../shared_data.h"
#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"
#include "tokenizer_fixtures.h"

#include <switchyard_test.h>

using namespace switchyard;
using Ids = std::vector<std::int64_t>;

namespace {

std::string python() {
    const char* named = std::getenv("SWITCHYARD_PYTHON");
    return named != nullptr ? named : "python3";
}

// Before 0.23 it decodes tokens that were added with normalization in another way.
bool has_peer() {
    const std::string asked =
        "import tokenizers; assert tuple(map(int, tokenizers.__version__.split(\".\")[:2])) >= (0, 23)";
    return std::system(("'" + python() + "' -c '" + asked + "' >/dev/null 2>&1").c_str()) == 0;
}

constexpr const char* no_peer = "no Python package tokenizers 0.23 or newer (SWITCHYARD_PYTHON)";

bool came_after_unicode_14(char32_t c) {
    static const data::CharacterSet newer(
        {{0xCF3, 0xCF3},     {0xECE, 0xECE},     {0x10EFD, 0x10EFF}, {0x1123F, 0x11241}, {0x11B00, 0x11B09},
         {0x11F00, 0x11F59}, {0x1342F, 0x1342F}, {0x13439, 0x13455}, {0x1B132, 0x1B132}, {0x1B155, 0x1B155},
         {0x1D2C0, 0x1D2D3}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E08F}, {0x1E4D0, 0x1E4F9}, {0x1F6DC, 0x1F6DC},
         {0x1F774, 0x1F776}, {0x1F77B, 0x1F77F}, {0x1F7D9, 0x1F7D9}, {0x1FA75, 0x1FA77}, {0x1FA87, 0x1FA88},
         {0x1FAAD, 0x1FAAF}, {0x1FABB, 0x1FABF}, {0x1FACE, 0x1FACF}, {0x1FADA, 0x1FADB}, {0x1FAE8, 0x1FAE8},
         {0x1FAF7, 0x1FAF8}, {0x31350, 0x323AF}});
    return newer.holds(c) || utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_CN;
}

// Half of the characters from anywhere, the others from what is common.
std::vector<std::string> random_texts(std::size_t count) {
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const std::vector<char32_t> limits{0x80, 0x80, 0x250, 0x600, 0x3000, 0x3100, 0x10000, 0x20000, 0x110000};
    const std::vector<std::string> words{" ",  "the", " lighthouse", "'s",  "\n",    "  ",        "1984",
                                         "é",  "ing", "newtok",      "<s>", "▁",     "[MASK]",    "ß",
                                         "中", "ा",   "👍🏽",    "İ",   "\t \n", "two words", "ﬁ"};
    std::vector<std::string> texts;
    while (texts.size() < count) {
        std::string text;
        const auto limit = limits[below(limits.size())];
        for (auto left = below(24) + 1; left > 0; --left) {
            const auto c = static_cast<char32_t>(below(limit));
            if (below(4) == 0)
                text += words[below(words.size())];
            else if ((c < 0xD800 || c > 0xDFFF) && !came_after_unicode_14(c))
                data::append_code_point(text, c);
        }
        texts.push_back(std::move(text));
    }
    return texts;
}

std::vector<std::string> lines_of(const std::string& path, std::size_t most) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; lines.size() < most && std::getline(file, line);) lines.push_back(line);
    return lines;
}

// How many texts have other numbers, or decode to another text, and the first of them.
void check_against_peer(const std::string& name, const std::string& tokenizer,
                        const std::vector<std::string>& texts) {
    INFO(name);
    const auto folder = test::temporary_dir("peer");
    std::ofstream(folder / "tokenizer.json") << tokenizer;
    {
        std::ofstream file(folder / "texts");
        for (const auto& text : texts) file << base::Json(text).dump() << '\n';
    }
    const auto here = test::source_dir() / "tests/workbench/data/tokenizers/peer.py";
    const auto command = "'" + python() + "' '" + here.string() + "' '" +
                         (folder / "tokenizer.json").string() + "' '" + (folder / "texts").string() + "' >'" +
                         (folder / "results").string() + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    const auto ours = data::read_tokenizer_json(tokenizer, name);
    std::ifstream results(folder / "results");
    std::string line, first;
    std::size_t other = 0;
    for (const auto& text : texts) {
        REQUIRE(std::getline(results, line));
        const auto theirs = base::parse_json(line).value;
        const auto ids = ours->encode(text);
        const bool same = ids == theirs[0].get<Ids>() && ours->decode(ids) == theirs[1].get<std::string>();
        if (same) continue;
        if (other++ == 0)
            first = base::Json(text).dump(-1, ' ', true) + "\nours " +
                    base::Json({ids, ours->decode(ids)}).dump(-1, ' ', true) + "\ntheirs " + line;
    }
    INFO(first);
    CHECK(other == 0);
}

}  // namespace

TEST_CASE("random texts have the numbers that tokenizers gives them") {
    if (!has_peer()) return test::skip(no_peer);
    const auto all = random_texts(10'000);
    const auto cases = test::json_of_file(test::tokenizer_fixture("cases.json"));
    const std::vector<std::string> few(all.begin(), all.begin() + 1000);
    for (const auto& one : cases["cases"]) {
        const auto base = one["base"].get<std::string>(), name = one["name"].get<std::string>();
        const bool main = name == base || name.find("GPT-4") != std::string::npos ||
                          name.find("NFKC") != std::string::npos || name.find("added") != std::string::npos;
        check_against_peer(name, test::changed_tokenizer(base, one["change"]), main ? all : few);
    }
}

TEST_CASE("real texts have the numbers that tokenizers gives them") {
    if (!has_peer()) return test::skip(no_peer);
    std::vector<std::string> texts;
    for (const std::string name :
         {"wikitext2/valid.txt", "multi30k/val.de", "imdb/test.tsv", "sst2/dev.tsv"}) {
        const auto path = test::shared_data(name);
        if (path.empty()) return test::skip(test::no_shared_data(name));
        const auto lines = lines_of(path, 2000);
        texts.insert(texts.end(), lines.begin(), lines.end());
    }
    for (const std::string name : {"wordpiece", "bytes", "pairs", "unigram"})
        check_against_peer(name, test::bytes_of_file(test::tokenizer_fixture(name + ".json")), texts);
}
