// Tokenizers of model folders: which file is taken, GPT-2's two files and SentencePiece's models against
// their peers, and that what a tokenizer keeps makes the same tokenizer again.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "tokenizer_fixtures.h"

#include <switchyard_test.h>

using namespace switchyard;
using Ids = std::vector<std::int64_t>;
using config::TokenizerKind;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> texts() {
    return test::json_of_file(test::tokenizer_fixture("texts.json")).get<std::vector<std::string>>();
}

// vocab.json and merges.txt of the tokenizer of bytes.
void write_gpt2(const fs::path& folder) {
    const auto model = test::json_of_file(test::tokenizer_fixture("bytes.json"))["model"];
    write(folder / "vocab.json", model["vocab"].dump());
    std::string merges = "#version: 0.2\n";
    for (const auto& pair : model["merges"])
        merges += pair[0].get<std::string>() + " " + pair[1].get<std::string>() + "\n";
    write(folder / "merges.txt", merges);
}

data::OpenedTokenizer opened(const std::string& vocabulary, const std::string& weights = "",
                             TokenizerKind kind = TokenizerKind::automatic) {
    config::DataConfig job;
    job.tokenizer = kind;
    job.vocabulary = vocabulary;
    return data::open_tokenizer(job, weights);
}

// Writes what the tokenizer keeps into a folder of its own, and opens that.
void check_kept(const data::Tokenizer& tokenizer, const fs::path& folder) {
    for (const auto& file : tokenizer.files()) write(folder / file.name, file.bytes);
    const auto again = opened(folder.string());
    REQUIRE(again.tokenizer);
    CHECK(again.tokenizer->size() == tokenizer.size());
    for (const auto& text : texts()) CHECK(again.tokenizer->encode(text) == tokenizer.encode(text));
    CHECK(again.tokenizer->encode_with_specials("a film", 0) == tokenizer.encode_with_specials("a film", 0));
    CHECK(again.tokenizer->files().size() == tokenizer.files().size());
}

}  // namespace

TEST_CASE("SentencePiece's models give what SentencePiece gives") {
    const auto cases = test::json_of_file(test::tokenizer_fixture("cases.json"));
    for (const auto& model : cases["models"]) {
        const auto name = model["file"].get<std::string>();
        const auto made = opened(test::tokenizer_fixture(name));
        REQUIRE(made.tokenizer);
        std::istringstream sums(model["sums"].get<std::string>());
        for (const auto& text : texts()) {
            if (text.find('\0') != std::string::npos) continue;
            std::string sum;
            sums >> sum;
            INFO(name << " " << base::Json(text).dump());
            const auto ids = made.tokenizer->encode(text);
            CHECK(test::checksum_of(ids, made.tokenizer->decode(ids)) == sum);
        }
        check_kept(*made.tokenizer, test::temporary_dir("sentencepiece") / name);
    }
    const auto made = opened(test::tokenizer_fixture("unigram.model")).tokenizer;
    CHECK(made->specials().pad == 0);
    CHECK(made->specials().bos == 1);
    CHECK(made->specials().eos == 2);
    CHECK(made->specials().unk == 3);
    CHECK(made->specials().mask == 4);
    const auto framed = made->encode_with_specials("the film", 0);
    CHECK(framed.front() == 1);
    CHECK(framed.back() == 2);
    CHECK(made->problem_in("a\xff") == "is not valid UTF-8 at byte 2");
    const auto folder = test::temporary_dir("damaged");
    write(folder / "tokenizer.model", "no model");
    const auto damaged = opened(folder.string());
    REQUIRE(damaged.problems.size() == 1);
    CHECK_THAT(damaged.problems[0], test::contains("/tokenizer.model: is no model of SentencePiece"));
}

TEST_CASE("GPT-2's two files give what the same tokenizer.json gives") {
    const auto folder = test::temporary_dir("gpt2");
    write_gpt2(folder);
    const auto whole = opened(test::tokenizer_fixture("bytes.json")).tokenizer;
    const auto files = opened(folder.string()).tokenizer;
    REQUIRE(whole);
    REQUIRE(files);
    std::size_t same = 0;
    for (const auto& text : texts()) {
        if (text.find('<') != std::string::npos) continue;  // written specials: here they are RoBERTa's
        CHECK(files->encode(text) == whole->encode(text));
        CHECK(files->decode(files->encode(text)) == whole->decode(whole->encode(text)));
        ++same;
    }
    CHECK(same > 200);
    CHECK(files->encode_with_specials("a", 0).size() == 3);
    CHECK(files->encode("a <mask>") == Ids({files->encode("a")[0], files->specials().mask}));
    check_kept(*files, test::temporary_dir("gpt2_kept"));
    CHECK(opened((folder / "vocab.json").string()).tokenizer->size() == files->size());
    CHECK(opened((folder / "merges.txt").string()).tokenizer->size() == files->size());
    write(folder / "merges.txt", "#version: 0.2\na b c\n");
    CHECK(opened(folder.string()).problems ==
          std::vector<std::string>{(folder / "merges.txt").string() +
                                   ":2: expected two tokens with a space between, got 'a b c'"});
    write(folder / "merges.txt", "a nowhere\n");
    CHECK_THAT(opened(folder.string()).problems.front(),
               test::contains("merges.txt: merge 1: 'nowhere' is not in the vocabulary"));
    write(folder / "merges.txt", "");
    write(folder / "vocab.json", "{\"a\": 1.5}");
    CHECK_THAT(opened(folder.string()).problems.front(), test::contains("the token 'a' has the number 1.5"));
}

TEST_CASE("GPT-2's two files frame texts as the class says that transformers give them to") {
    const auto peer = test::json_of_file(test::tokenizer_fixture("gpt2_files.json"));
    const auto& given = peer["texts"];
    const auto& pairs = peer["pairs"];
    std::size_t number = 0;
    for (const auto& of : peer["cases"]) {
        const auto folder = test::temporary_dir("framed_gpt2") / std::to_string(number++);
        write_gpt2(folder);
        const auto& settings = of["settings"];
        if (!settings.is_null()) write(folder / "tokenizer_config.json", settings.dump());
        INFO(settings.dump());
        const auto made = opened(folder.string()).tokenizer;
        REQUIRE(made);
        for (std::size_t i = 0; i < given.size(); ++i) {
            INFO(given[i].dump());
            CHECK(made->encode_with_specials(given[i].get<std::string>(), 0) == of["texts"][i].get<Ids>());
        }
        const bool framed = of["texts"][0].size() == 2;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            INFO(pairs[i].dump());
            const auto pair =
                made->encode_pair(pairs[i][0].get<std::string>(), pairs[i][1].get<std::string>(), 0);
            CHECK(pair.ids == of["pairs"][i][0].get<Ids>());
            // A GPT-2 has no segments.
            if (framed) CHECK(pair.token_type_ids == of["pairs"][i][1].get<Ids>());
        }
        CHECK((made->specials().bos == 0) == (framed || settings.contains("bos_token")));
        check_kept(*made, test::temporary_dir("framed_gpt2_kept") / std::to_string(number));
    }
    CHECK(number == 5);
    const auto folder = test::temporary_dir("unframed");
    write(folder / "vocab.json", R"({"a": 0, "<s>": 1})");
    write(folder / "merges.txt", "");
    write(folder / "tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
    CHECK_THAT(
        opened(folder.string()).problems.front(),
        test::contains("vocab.json: has no token '</s>', with which RoBERTa frames texts; expected it"));
    write(folder / "tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer", "sep_token": "a"})");
    CHECK(opened(folder.string()).tokenizer->encode_with_specials("", 0) == Ids{1, 0});
}

TEST_CASE("a folder's tokenizer is taken in order: tokenizer.json, GPT-2's files, SentencePiece, vocab.txt") {
    const auto folder = test::temporary_dir("order");
    const auto find = [&](TokenizerKind kind = TokenizerKind::automatic) {
        config::DataConfig job;
        job.tokenizer = kind;
        return data::find_tokenizer(job, folder.string());
    };
    CHECK_THAT(find().error,
               test::contains("is a folder without a tokenizer; expected tokenizer.json, vocab.json "
                              "with merges.txt, spiece.model, tokenizer.model, vocab.txt in it"));
    const auto piece = [&](const char* name) { return (folder / name).string(); };
    write(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n");
    CHECK(find().files == std::vector{piece("vocab.txt")});
    CHECK(find().kind == TokenizerKind::wordpiece);
    write(folder / "tokenizer.model", test::bytes_of_file(test::tokenizer_fixture("unigram.model")));
    CHECK(find().files == std::vector{piece("tokenizer.model")});
    write(folder / "spiece.model", "");
    CHECK(find().files == std::vector{piece("spiece.model")});
    write(folder / "vocab.json", "{}");
    CHECK(find().kind == TokenizerKind::sentencepiece);
    write(folder / "merges.txt", "");
    CHECK(find().files == std::vector{piece("vocab.json"), piece("merges.txt")});
    write(folder / "tokenizer.json", test::bytes_of_file(test::tokenizer_fixture("wordpiece.json")));
    CHECK(find().files == std::vector{piece("tokenizer.json")});
    CHECK(data::tokenizer_line(find()) == piece("tokenizer.json") + ", the tokenizer of train.weights");
    CHECK(find(TokenizerKind::wordpiece).files == std::vector{piece("vocab.txt")});
    // What [data] names goes before the weights.
    CHECK(opened(piece("vocab.txt"), folder.string()).tokenizer->size() == 7);
    const auto taken = opened("", folder.string());
    REQUIRE(taken.tokenizer);
    CHECK(taken.tokenizer->size() > 500);
    CHECK(std::string(taken.key) == "train.weights");
    check_kept(*taken.tokenizer, test::temporary_dir("order_kept"));
    CHECK_THAT(opened("").problems.front(), test::contains("expected the path of tokenizer.json"));
}

TEST_CASE("a folder's vocab.txt is read as its tokenizer_config.json says") {
    const auto folder = test::temporary_dir("cased");
    write(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n");
    CHECK(opened(folder.string()).tokenizer->encode("A") == Ids{6});
    write(folder / "tokenizer_config.json", R"({"do_lower_case": false})");
    const auto cased = opened(folder.string()).tokenizer;
    CHECK(cased->encode("A a") == Ids{5, 6});
    check_kept(*cased, test::temporary_dir("cased_kept"));
    write(folder / "tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": false})");
    CHECK_THAT(opened(folder.string()).problems.front(),
               test::contains("strip_accents of tokenizer_config.json"));
    write(folder / "tokenizer_config.json", "[");
    CHECK_THAT(opened(folder.string()).problems.front(),
               test::contains("tokenizer_config.json:1:2: not valid JSON"));
}

TEST_CASE("tokens that a folder's settings add to GPT-2's two files are found in texts") {
    const auto folder = test::temporary_dir("gpt2_added");
    write_gpt2(folder);
    const auto plain = opened(folder.string()).tokenizer;
    REQUIRE(plain);
    const auto end = plain->size();
    const auto number = [&](std::int64_t more) { return std::to_string(end + more); };
    auto expected = Ids{end + 1};
    for (const auto id : plain->encode(" a film ")) expected.push_back(id);
    expected.push_back(end);
    const std::string text = "<|user|> a film [PAD]";
    write(folder / "added_tokens.json", R"({"<|user|>": )" + number(1) + R"(, "[PAD]": )" + number(0) + "}");
    write(folder / "special_tokens_map.json", R"({"pad_token": "[PAD]"})");
    const auto by_map = opened(folder.string()).tokenizer;
    REQUIRE(by_map);
    CHECK(by_map->encode(text) == expected);
    CHECK(by_map->size() == end + 2);
    CHECK(by_map->specials().pad == end);
    CHECK(by_map->decode({end + 1, end}) == "<|user|>");
    check_kept(*by_map, test::temporary_dir("gpt2_added_kept"));
    // What added_tokens_decoder says is believed before that.
    write(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {")" + number(0) +
                                                R"(": {"content": "[PAD]", "special": true}, ")" + number(1) +
                                                R"(": {"content": "<|user|>", "rstrip": true}}})");
    expected.erase(expected.begin() + 1, expected.end());
    for (const auto id : plain->encode("a film ")) expected.push_back(id);
    expected.push_back(end);
    CHECK(opened(folder.string()).tokenizer->encode(text) == expected);
    write(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {"9999": {"content": "[X]"}}})");
    CHECK_THAT(opened(folder.string()).problems.front(),
               test::contains("tokenizer_config.json: the added token '[X]' has the number 9999, but the "
                              "tokens before it leave the number " +
                              number(0)));
    write(folder / "tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "[X]"}}})");
    CHECK_THAT(opened(folder.string()).problems.front(),
               test::contains("the added token '[X]' has the number x; expected a whole number"));
}

TEST_CASE("tokens that a folder's settings add to vocab.txt are found in texts") {
    const auto folder = test::temporary_dir("bert_added");
    write(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n!\n");
    const auto plain = opened(folder.string()).tokenizer;
    REQUIRE(plain);
    // As transformers writes them: one that is no special token was spelled in lower case.
    write(folder / "added_tokens.json", R"({"[e1]": 8, "newtok": 9})");
    const auto made = opened(folder.string()).tokenizer;
    REQUIRE(made);
    CHECK(made->encode("[E1] AB newtok [MASK]!") == Ids{8, 5, 6, 9, 4, 7});
    CHECK(made->encode_with_specials("ab", 0) == Ids{2, 5, 6, 3});
    const auto pair = made->encode_pair("a", "[e1]", 0);
    CHECK(pair.ids == Ids{2, 5, 3, 8, 3});
    CHECK(pair.token_type_ids == Ids{0, 0, 0, 1, 1});
    CHECK(made->size() == 10);
    for (const auto& text : texts()) {
        std::string lower = text;
        std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
        if (lower.find("newtok") == std::string::npos && lower.find("[e1]") == std::string::npos)
            CHECK(made->encode(text) == plain->encode(text));
    }
    const auto &ours = made->specials(), &theirs = plain->specials();
    CHECK(Ids{ours.pad, ours.bos, ours.eos, ours.unk, ours.mask} ==
          Ids{theirs.pad, theirs.bos, theirs.eos, theirs.unk, theirs.mask});
    check_kept(*made, test::temporary_dir("bert_added_kept"));
    write(folder / "tokenizer_config.json", R"({"do_lower_case": false})");
    CHECK(opened(folder.string()).tokenizer->encode("A") == Ids{1});
    write(folder / "added_tokens.json", R"({"newtok": 12})");
    CHECK_THAT(opened(folder.string()).problems.front(), test::contains("added_tokens.json: added_tokens["));
    write(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\xff\nb\n");
    CHECK(opened(folder.string()).problems ==
          std::vector<std::string>{(folder / "vocab.txt").string() + ":6: is not valid UTF-8 at byte 2"});
}

TEST_CASE("an added_tokens.json that makes no other tokens is not kept") {
    const auto pieces = test::temporary_dir("pieces_kept"), words = test::temporary_dir("words_kept"),
               pairs = test::temporary_dir("pairs_kept");
    write(pieces / "spiece.model", test::bytes_of_file(test::tokenizer_fixture("unigram.model")));
    write(words / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na");
    write_gpt2(pairs);
    write(pairs / "special_tokens_map.json", R"({"bos_token": "<s>"})");
    const auto begin = opened(pairs.string()).tokenizer->specials().bos;
    const auto kept = [](const fs::path& folder) { return opened(folder.string()).tokenizer->files(); };
    const auto keeps = [&](const fs::path& folder, const std::string& added) {
        const auto before = kept(folder).size();
        write(folder / "added_tokens.json", added);
        const bool more = kept(folder).size() > before;
        fs::remove(folder / "added_tokens.json");
        return more;
    };
    for (const auto& folder : {pieces, words, pairs}) CHECK_FALSE(keeps(folder, "{}"));
    CHECK_FALSE(keeps(pieces, R"({"<s>": 1})"));
    CHECK(keeps(pieces, R"({"<extra_id_0>": 9000})"));
    CHECK_FALSE(keeps(words, R"({"[MASK]": 4})"));
    CHECK(keeps(words, R"({"a": 5})"));  // found within a word, too
    CHECK_FALSE(keeps(pairs, R"({"<s>": )" + std::to_string(begin) + "}"));
    const auto letter = std::to_string(opened(pairs.string()).tokenizer->encode("a").front());
    CHECK(keeps(pairs, R"({"a": )" + letter + "}"));
    write(words / "added_tokens.json", "{}");
    CHECK(kept(words)[0].bytes == "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");  // as of a vocab.txt alone
    write(pairs / "tokenizer_config.json", R"({"added_tokens_decoder": {}})");
    CHECK_FALSE(keeps(pairs, R"({"a": )" + letter + "}"));
}

TEST_CASE("a text with a token that was added to a model of SentencePiece is refused") {
    const auto folder = test::temporary_dir("pieces_added");
    write(folder / "spiece.model", test::bytes_of_file(test::tokenizer_fixture("unigram.model")));
    write(folder / "tokenizer_config.json",
          R"({"added_tokens_decoder": {"1": {"content": "<s>"}, "9000": {"content": "<extra_id_0>"}}})");
    const auto made = opened(folder.string()).tokenizer;
    REQUIRE(made);
    CHECK(made->problem_in("the film <s>") == "");
    CHECK(made->problem_in("the film <extra_id_0>") ==
          "has the added token '<extra_id_0>', which is not taken with a model of SentencePiece; expected a "
          "tokenizer.json that has it");
}

TEST_CASE("a tokenizer.json that spells texts otherwise than transformers does is refused") {
    const auto folder = test::temporary_dir("contradicting");
    const auto file = (folder / "tokenizer.json").string();
    write(file, test::bytes_of_file(test::tokenizer_fixture("wordpiece.json")));
    write(folder / "added_tokens.json", "no JSON");  // a tokenizer.json has these tokens itself
    const auto spelled = [&](bool lower, const base::Json& strip, bool ideographs = true) {
        const base::Json normalizer{{"type", "BertNormalizer"},
                                    {"clean_text", true},
                                    {"handle_chinese_chars", ideographs},
                                    {"strip_accents", strip},
                                    {"lowercase", lower}};
        write(file, test::changed_tokenizer("wordpiece", {{"normalizer", normalizer}}));
    };
    const auto with = [&](const std::string& settings) {
        write(folder / "tokenizer_config.json", settings);
        const auto result = opened(folder.string());
        return result.problems.empty() ? std::string() : result.problems.front();
    };
    CHECK(with(R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true})") == "");
    CHECK(with(R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false})") == "");
    CHECK(with(R"({"tokenizer_class": "DistilBertTokenizerFast", "do_lower_case": false})") ==
          file +
              ": normalizer.lowercase: is true, but transformers spells texts for DistilBertTokenizerFast by "
              "do_lower_case of tokenizer_config.json, which is false; expected normalizer.lowercase = "
              "false, as transformers has it, or do_lower_case = true");
    const std::string bert = R"({"tokenizer_class": "BertTokenizer")";
    spelled(false, nullptr);
    CHECK_THAT(
        with(bert + "}"),
        test::contains("lowercase: is false") &&
            test::contains("by do_lower_case of tokenizer_config.json, which is not there and so true;"));
    CHECK(with(bert + R"(, "do_lower_case": false})") == "");
    CHECK(with(bert + R"(, "do_lower_case": false, "strip_accents": false})") == "");
    const auto run = folder / "run/tokenizer";
    write(run / "tokenizer.json", test::bytes_of_file(file));
    write(run / "tokenizer_config.json", bert + "}");
    CHECK_FALSE(opened(run.string()).tokenizer);
    write(folder / "run/record.json", "{}");  // the run learnt from texts spelled so
    CHECK(opened(run.string()).tokenizer);
    spelled(true, nullptr);
    CHECK(with(bert + R"(, "strip_accents": true})") == "");
    CHECK_THAT(with(bert + R"(, "strip_accents": false})"),
               test::contains("normalizer.strip_accents: is null, but") &&
                   test::contains("expected normalizer.strip_accents = false, as transformers has it, or "
                                  "strip_accents = true"));
    CHECK_THAT(with(bert + R"(, "tokenize_chinese_chars": false})"),
               test::contains("normalizer.handle_chinese_chars: is true, but"));
    spelled(true, false);
    CHECK_THAT(with(bert + "}"),
               test::contains("by strip_accents of tokenizer_config.json, which is not there"));
    spelled(true, true, false);
    CHECK_THAT(with(bert + "}"), test::contains("normalizer.handle_chinese_chars: is false, but"));
}

TEST_CASE("special tokens are those that a folder names, else those of the frame, else the usual ones") {
    const auto folder = test::temporary_dir("specials");
    const auto copy = [&](const std::string& name) {
        write(folder / "tokenizer.json", test::bytes_of_file(test::tokenizer_fixture(name)));
        return opened(folder.string()).tokenizer;
    };
    auto ids = copy("wordpiece.json")->specials();
    CHECK(ids.pad == 0);
    CHECK(ids.unk == 1);
    CHECK(ids.bos == 2);
    CHECK(ids.eos == 3);
    CHECK(ids.mask == 4);
    write(folder / "tokenizer_config.json", R"({"bos_token": {"content": "[MASK]"}, "eos_token": "[PAD]"})");
    write(folder / "special_tokens_map.json", R"({"eos_token": "[UNK]", "pad_token": "[SEP]"})");
    ids = copy("wordpiece.json")->specials();
    CHECK(ids.bos == 4);
    CHECK(ids.eos == 0);
    CHECK(ids.pad == 3);
}

TEST_CASE("a task that needs a token which the tokenizer has not is told which") {
    const auto folder = test::temporary_dir("missing");
    const auto change = base::parse_json(R"({"model": {"vocab": [["a", -1], ["b", -2]], "unk_id": null},
                                            "added_tokens": []})");
    write(folder / "tokenizer.json", test::changed_tokenizer("unigram", change.value));
    const auto bare = opened(folder.string()).tokenizer;
    using Task = config::TaskKind;
    const auto missing = [&](Task task) { return data::missing_special(*bare, task, "it"); };
    CHECK(missing(Task::masked_lm) ==
          "it has no mask token ([MASK], <mask>), which task.kind = \"masked_lm\" needs");
    CHECK(missing(Task::causal_lm) ==
          "it has no token that ends a text ([SEP], </s>), which task.kind = \"causal_lm\" needs");
    CHECK_THAT(missing(Task::next_sentence), test::contains("begins a text"));
    CHECK(missing(Task::classification) == "");
    CHECK(bare->frame().size() == 1);
    CHECK(bare->filling() == 0);
}
