// A tokenizer.json, a text, and what else there is: merges.txt, to which the first is vocab.json. Whatever
// they are: an error in words, or numbers that lie within the vocabulary, are the same again and on two
// threads, and decode; and the same file makes the same tokenizer again.
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/gpt2_files.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace data = switchyard::data;
using Opened = std::shared_ptr<const data::PipelineTokenizer>;

Opened opened_json(std::string_view json) { return data::read_tokenizer_json(json, "tokenizer.json"); }

Opened opened_pair(std::string_view vocabulary, std::string_view merges) {
    return data::read_gpt2_files({"vocab.json", std::string(vocabulary)}, {"merges.txt", std::string(merges)},
                                 {}, {{"vocab.json", std::string(vocabulary)}});
}

void check_numbers(const data::PipelineTokenizer& tokenizer, const data::PipelineTokenizer& again,
                   std::string_view text) {
    const auto ids = tokenizer.encode(text);
    for (const auto id : ids) require(id >= 0 && id < tokenizer.size(), "a number outside of the vocabulary");
    require(tokenizer.encode(text) == ids, "a text has other numbers the second time");
    require(again.encode(text) == ids, "the same file makes another tokenizer");
    const std::vector<std::string_view> twice(130, text.substr(0, 20));
    const auto many = tokenizer.encode_batch(twice, 2);
    for (const auto& one : many) require(one == many.front(), "a text has other numbers on another thread");
    bool cut = false;
    (void)tokenizer.encode_with_specials(text, 7, &cut);
    (void)tokenizer.encode_pair(text, text, 9);
    (void)tokenizer.decode(ids);
    (void)tokenizer.decode({-1, tokenizer.size(), INT64_MAX, INT64_MIN, 0, 1, 2});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto parts = parts_of(text_of(bytes, size), 3);
    const auto json = parts[0], text = parts[1].substr(0, 300), merges = parts[2];
    try {
        const auto open = [&] { return merges.empty() ? opened_json(json) : opened_pair(json, merges); };
        const auto tokenizer = open();
        require(tokenizer != nullptr, "neither a tokenizer nor an error");
        check_numbers(*tokenizer, *open(), text);
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
    return 0;
}
