#include <array>

#include "core/workbench/data/tokenizers/pipeline/byte_pairs.h"
#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"
#include "core/workbench/data/tokenizers/pipeline/read_pattern.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

namespace switchyard::data {
namespace {

SplitBehavior behavior_of(const JsonField& field) {
    constexpr std::array<SplitBehavior, 5> behaviors{
        SplitBehavior::removed, SplitBehavior::isolated, SplitBehavior::merged_with_previous,
        SplitBehavior::merged_with_next, SplitBehavior::contiguous};
    return behaviors[field.one_of(
        {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"})];
}

std::unique_ptr<const PreTokenizer> byte_level(const JsonField& field, bool keep_bytes) {
    field.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    ByteLevelWords::Options options;
    options.add_prefix_space = field.at("add_prefix_space").flag();
    if (const auto use = field.find("use_regex")) options.use_regex = use->flag();
    options.keep_bytes = keep_bytes;
    return std::make_unique<ByteLevelWords>(options);
}

std::unique_ptr<const PreTokenizer> metaspace(const JsonField& field) {
    field.only({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    using Prepend = MetaspaceWords::Prepend;
    MetaspaceWords::Options options;
    options.replacement = field.at("replacement").character();
    if (const auto scheme = field.find("prepend_scheme"))
        options.prepend = std::array{Prepend::first, Prepend::never,
                                     Prepend::always}[scheme->one_of({"first", "never", "always"})];
    const auto prefix = field.find("add_prefix_space");
    if (prefix && !prefix->flag()) {
        // tokenizers takes a missing scheme for "always", which this contradicts.
        if (options.prepend != Prepend::never)
            prefix->fail("is false, but prepend_scheme is not \"never\"; expected the two to agree");
    }
    if (const auto split = field.find("split")) options.split = split->flag();
    return std::make_unique<MetaspaceWords>(std::move(options));
}

std::unique_ptr<const PreTokenizer> delimiter(const JsonField& field) {
    field.only({"type", "delimiter"});
    return std::make_unique<SplitAtMatches>(MatchPattern::literal(field.at("delimiter").character()),
                                            SplitBehavior::removed, false);
}

void add_pre_tokenizer(const JsonField& field, bool keep_bytes, PreTokenizers& parts) {
    const auto type = field.at("type").one_of({"BertPreTokenizer", "ByteLevel", "Whitespace",
                                               "WhitespaceSplit", "Metaspace", "Digits", "Punctuation",
                                               "CharDelimiterSplit", "Split", "FixedLength", "Sequence"});
    switch (type) {
        case 0:
            field.only({"type"});
            parts.push_back(std::make_unique<BertWords>());
            break;
        case 1:
            parts.push_back(byte_level(field, keep_bytes));
            break;
        case 2:
            field.only({"type"});
            parts.push_back(std::make_unique<WordsAndSigns>());
            break;
        case 3:
            field.only({"type"});
            parts.push_back(std::make_unique<SpacedWords>());
            break;
        case 4:
            parts.push_back(metaspace(field));
            break;
        case 5: {
            field.only({"type", "individual_digits"});
            const bool single = field.at("individual_digits").flag();
            parts.push_back(std::make_unique<SplitAtCharacters>(
                &is_numeric, single ? SplitBehavior::isolated : SplitBehavior::contiguous));
            break;
        }
        case 6: {
            field.only({"type", "behavior"});
            const auto behavior = field.find("behavior");
            parts.push_back(std::make_unique<SplitAtCharacters>(
                &is_punctuation_mark, behavior ? behavior_of(*behavior) : SplitBehavior::isolated));
            break;
        }
        case 7:
            parts.push_back(delimiter(field));
            break;
        case 8:
            field.only({"type", "pattern", "behavior", "invert"});
            parts.push_back(std::make_unique<SplitAtMatches>(
                read_pattern(field), behavior_of(field.at("behavior")), field.at("invert").flag()));
            break;
        case 9: {
            field.only({"type", "length"});
            const auto length = field.find("length");
            const auto characters = length ? length->integer(1, std::int64_t{1} << 30) : 5;
            parts.push_back(std::make_unique<FixedLengths>(static_cast<std::size_t>(characters)));
            break;
        }
        default: {
            field.only({"type", "pretokenizers"});
            const auto list = field.at("pretokenizers").list();
            for (std::size_t i = 0; i < list.size(); ++i)
                add_pre_tokenizer(list[i], keep_bytes && i + 1 == list.size(), parts);
        }
    }
}

}  // namespace

PreTokenizers read_pre_tokenizers(const JsonField& field, bool keep_bytes) {
    PreTokenizers parts;
    if (!field.is_null()) add_pre_tokenizer(field, keep_bytes, parts);
    return parts;
}

bool can_keep_bytes(const JsonField& pre_tokenizer, const JsonField& model) {
    const auto* last = &pre_tokenizer.value();
    while (base::text_of(*last, "type") == "Sequence" && base::member(*last, "pretokenizers").is_array() &&
           !base::member(*last, "pretokenizers").empty())
        last = &base::member(*last, "pretokenizers").back();
    const auto& pairs = model.value();
    const bool falls_back = base::member(pairs, "byte_fallback") == base::Json(true);
    return base::text_of(*last, "type") == "ByteLevel" && base::text_of(pairs, "type") == "BPE" &&
           BytePairs::can_take_bytes({.unknown = "",
                                      .continuing = base::text_of(pairs, "continuing_subword_prefix"),
                                      .end_of_word = base::text_of(pairs, "end_of_word_suffix"),
                                      .byte_fallback = falls_back});
}

}  // namespace switchyard::data
