#include <array>

#include "core/workbench/data/tokenizers/pipeline/charsmap.h"
#include "core/workbench/data/tokenizers/pipeline/read_pattern.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

namespace switchyard::data {
namespace {

std::unique_ptr<const Normalizer> bert_spelling(const JsonField& field) {
    field.only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    BertSpelling::Options options;
    options.clean_text = field.at("clean_text").flag();
    options.handle_chinese_chars = field.at("handle_chinese_chars").flag();
    options.lowercase = field.at("lowercase").flag();
    const auto strip = field.find("strip_accents");
    options.strip_accents = strip ? strip->flag() : options.lowercase;
    return std::make_unique<BertSpelling>(options);
}

// Adds them in order; a sequence is its parts.
void add_normalizer(const JsonField& field, Normalizers& normalizers) {
    constexpr std::array<NormalForm, 4> forms{NormalForm::nfc, NormalForm::nfd, NormalForm::nfkc,
                                              NormalForm::nfkd};
    const auto type = field.at("type").one_of({"NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "Lowercase",
                                               "Strip", "StripAccents", "Replace", "Prepend", "Nmt",
                                               "Precompiled", "ByteLevel", "Sequence"});
    if (type < forms.size()) {
        field.only({"type"});
        normalizers.push_back(std::make_unique<ToNormalForm>(forms[type]));
        return;
    }
    switch (type) {
        case 4:
            normalizers.push_back(bert_spelling(field));
            break;
        case 5:
            field.only({"type"});
            normalizers.push_back(std::make_unique<LowerCase>());
            break;
        case 6: {
            field.only({"type", "strip_left", "strip_right"});
            const bool left = field.at("strip_left").flag();
            normalizers.push_back(std::make_unique<StripSpace>(left, field.at("strip_right").flag()));
            break;
        }
        case 7:
            field.only({"type"});
            normalizers.push_back(std::make_unique<StripMarks>());
            break;
        case 8:
            field.only({"type", "pattern", "content"});
            normalizers.push_back(
                std::make_unique<ReplaceMatches>(read_pattern(field), field.at("content").text()));
            break;
        case 9:
            field.only({"type", "prepend"});
            normalizers.push_back(std::make_unique<PrependText>(field.at("prepend").text()));
            break;
        case 10:
            field.only({"type"});
            normalizers.push_back(std::make_unique<NmtSpelling>());
            break;
        case 11: {
            field.only({"type", "precompiled_charsmap"});
            const auto map = field.at("precompiled_charsmap");
            normalizers.push_back(map.made([&] { return std::make_unique<CharsmapSpelling>(map.text()); }));
            break;
        }
        case 12:
            field.only({"type"});
            normalizers.push_back(std::make_unique<ByteAlphabet>());
            break;
        default:
            field.only({"type", "normalizers"});
            for (const auto& part : field.at("normalizers").list()) add_normalizer(part, normalizers);
    }
}

}  // namespace

Normalizers read_normalizers(const JsonField& field) {
    Normalizers normalizers;
    if (!field.is_null()) add_normalizer(field, normalizers);
    return normalizers;
}

}  // namespace switchyard::data
