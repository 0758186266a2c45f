// A vocabulary and a text, separated by 0x1c. Whatever both are: numbers lie within the vocabulary, what
// loses nothing comes back, and the vocabulary that a tokenizer writes makes the same tokenizer again.
#include "core/workbench/data/tokenizers/bert_normalizer.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/smiles_text.h"
#include "core/workbench/data/tokenizers/smiles_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace data = switchyard::data;
using Ids = std::vector<std::int64_t>;

Ids require_sound(const data::Tokenizer& tokenizer, std::string_view text) {
    const auto ids = tokenizer.encode(text);
    for (const auto id : ids) require(id >= 0 && id < tokenizer.size(), "a number outside of the vocabulary");
    for (const std::int64_t length : {std::int64_t{0}, std::int64_t{2}, std::int64_t{7}}) {
        bool cut = false;
        const auto whole = tokenizer.encode_with_specials(text, length, &cut);
        require(length == 0 || whole.size() <= static_cast<std::size_t>(length), "longer than was allowed");
        require(cut == (whole.size() < ids.size() + 2), "it is not told whether the text was cut");
        require(whole.front() == tokenizer.specials().bos && whole.back() == tokenizer.specials().eos,
                "it does not begin or end as it must");
    }
    (void)tokenizer.decode(ids);
    (void)tokenizer.decode({-1, tokenizer.size(), INT64_MAX, INT64_MIN});
    return ids;
}

void check_bytes(std::string_view text) {
    const data::ByteTokenizer tokenizer;
    require(tokenizer.decode(require_sound(tokenizer, text)) == text, "bytes do not come back");
    require(tokenizer.problem_in(text).empty(), "bytes that cannot be written");
}

template <class Opened>
void require_error_or_tokenizer(const Opened& opened) {
    require((opened.tokenizer == nullptr) != opened.error.empty(), "neither a tokenizer nor an error");
    if (!opened.tokenizer) require_message(opened.error);
}

void check_smiles(std::string_view vocabulary, std::string_view text) {
    const auto token = data::first_smiles_token(text);
    require(text.starts_with(token), "a token that the text does not begin with");
    (void)data::bracket_fault(text);
    std::set<std::string> tokens;
    std::size_t at = 0;
    if (data::collect_smiles_tokens(text, tokens, at).empty() && !tokens.empty()) {
        const auto made = data::SmilesTokenizer::from_tokens(tokens);
        require(made->problem_in(text).empty(), "a tokenizer does not know the text it was made of");
        require(made->decode(require_sound(*made, text)) == text, "a molecule does not come back");
    }
    const auto opened = data::SmilesTokenizer::from_text(vocabulary, "vocabulary");
    require_error_or_tokenizer(opened);
    if (!opened.tokenizer) return;
    const auto ids = require_sound(*opened.tokenizer, text);
    if (opened.tokenizer->problem_in(text).empty())
        require(opened.tokenizer->decode(ids) == text, "a molecule without a problem does not come back");
    const auto again = data::SmilesTokenizer::from_text(opened.tokenizer->vocabulary_text(), "again");
    require(again.tokenizer && again.tokenizer->encode(text) == ids, "its vocabulary makes another tokenizer",
            again.error);
}

void check_words(std::string_view text, bool lower_case) {
    data::for_each_bert_word(text, lower_case, [](std::string_view word) {
        require(!word.empty() && code_points(word).has_value(), "a word that is empty or no UTF-8", word);
        require(word.find_first_of(" \t\r\n") == std::string_view::npos, "a word with a space in it", word);
    });
}

void check_wordpiece(std::string_view vocabulary, std::string_view text, bool lower_case) {
    check_words(text, lower_case);
    const auto opened = data::WordPiece::from_text(vocabulary, "vocabulary", {.lower_case = lower_case});
    require_error_or_tokenizer(opened);
    if (!opened.tokenizer) return;
    const auto& tokenizer = *opened.tokenizer;
    const auto ids = require_sound(tokenizer, text);
    const auto again =
        data::WordPiece::from_text(tokenizer.vocabulary_text(), "again", {.lower_case = lower_case});
    require(again.tokenizer && again.tokenizer->encode(text) == ids, "its vocabulary makes another tokenizer",
            again.error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto parts = parts_of(text_of(bytes, size), 2);
    const auto vocabulary = parts[0], text = parts[1];
    require((data::find_invalid_utf8(text) == std::string_view::npos) == code_points(text).has_value(),
            "two readers of UTF-8 disagree", text);
    check_bytes(text);
    check_smiles(vocabulary, text);
    check_wordpiece(vocabulary, text, true);
    check_wordpiece(vocabulary, text, false);
    return 0;
}
