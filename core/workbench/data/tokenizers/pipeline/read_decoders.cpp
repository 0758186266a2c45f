#include "core/workbench/data/tokenizers/pipeline/read_pattern.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

namespace switchyard::data {
namespace {

constexpr std::int64_t most_characters = std::int64_t{1} << 30;

std::unique_ptr<const Decoder> from_metaspace(const JsonField& field) {
    field.only({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    bool prepended = true;
    if (const auto scheme = field.find("prepend_scheme"))
        prepended = scheme->one_of({"first", "never", "always"}) != 1;
    return std::make_unique<MetaspaceToSpace>(field.at("replacement").character(), prepended);
}

void add_decoder(const JsonField& field, Decoders& decoders) {
    const auto type = field.at("type").one_of({"WordPiece", "ByteLevel", "Metaspace", "BPEDecoder", "Replace",
                                               "ByteFallback", "Fuse", "Strip", "Sequence"});
    switch (type) {
        case 0:
            field.only({"type", "prefix", "cleanup"});
            decoders.push_back(
                std::make_unique<JoinWordPieces>(field.at("prefix").text(), field.at("cleanup").flag()));
            break;
        case 1:
            field.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
            decoders.push_back(std::make_unique<JoinByteAlphabet>());
            break;
        case 2:
            decoders.push_back(from_metaspace(field));
            break;
        case 3:
            field.only({"type", "suffix"});
            decoders.push_back(std::make_unique<SuffixToSpace>(field.at("suffix").text()));
            break;
        case 4:
            field.only({"type", "pattern", "content"});
            decoders.push_back(
                std::make_unique<ReplaceInTokens>(read_pattern(field), field.at("content").text()));
            break;
        case 5:
            field.only({"type"});
            decoders.push_back(std::make_unique<JoinByteTokens>());
            break;
        case 6:
            field.only({"type"});
            decoders.push_back(std::make_unique<FuseTokens>());
            break;
        case 7:
            field.only({"type", "content", "start", "stop"});
            decoders.push_back(std::make_unique<StripFromTokens>(
                field.at("content").character(), field.at("start").integer(0, most_characters),
                field.at("stop").integer(0, most_characters)));
            break;
        default:
            field.only({"type", "decoders"});
            for (const auto& part : field.at("decoders").list()) add_decoder(part, decoders);
    }
}

}  // namespace

Decoders read_decoders(const JsonField& field) {
    Decoders decoders;
    if (!field.is_null()) add_decoder(field, decoders);
    return decoders;
}

}  // namespace switchyard::data
