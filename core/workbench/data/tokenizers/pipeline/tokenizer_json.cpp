#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace switchyard::data {
namespace {

// Numbers are given as tokenizers gives them on loading: that of the model's token, else the next one behind
// all. What the file says of a number is not asked there.
std::vector<AddedToken> read_added_tokens(const JsonField& field, const WordModel& model) {
    std::vector<AddedToken> tokens;
    std::unordered_map<std::string, std::size_t> places;
    auto next = model.count();
    for (const auto& entry : field.list()) {
        entry.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
        AddedToken token;
        token.content = entry.at("content").text();
        token.single_word = entry.at("single_word").flag();
        token.lstrip = entry.at("lstrip").flag();
        token.rstrip = entry.at("rstrip").flag();
        token.normalized = entry.at("normalized").flag();
        token.special = entry.at("special").flag();
        if (token.content.empty()) continue;
        const auto before = places.find(token.content);
        const auto known = model.find(token.content);
        token.id = before != places.end() ? tokens[before->second].id : known >= 0 ? known : next++;
        const auto stated = entry.at("id").integer(0, std::int64_t{1} << 32);
        if (stated != token.id)
            entry.at("id").fail("is " + std::to_string(stated) +
                                ", but the tokens before it leave the number " + std::to_string(token.id) +
                                "; expected added tokens in order of their numbers, behind "
                                "those of the model");
        if (before != places.end()) {
            tokens[before->second] = token;
            continue;
        }
        places.emplace(token.content, tokens.size());
        tokens.push_back(std::move(token));
    }
    return tokens;
}

std::int64_t number_of(const TokenizerParts& parts, std::string_view token) {
    if (token.empty()) return -1;
    const auto added = std::find_if(parts.added.begin(), parts.added.end(),
                                    [&](const AddedToken& one) { return one.content == token; });
    return added != parts.added.end() ? added->id : parts.model->find(token);
}

template <std::size_t count>
std::int64_t first_known(const TokenizerParts& parts, const std::array<std::string_view, count>& usual) {
    for (const auto token : usual) {
        if (const auto id = number_of(parts, token); id >= 0) return id;
    }
    return -1;
}

}  // namespace

SpecialIds find_specials(const TokenizerParts& parts, const SpecialNames& names) {
    constexpr std::array<std::string_view, 4> pads{"[PAD]", "<pad>", "<|pad|>", "<|finetune_right_pad_id|>"};
    constexpr std::array<std::string_view, 2> masks{"[MASK]", "<mask>"};
    constexpr std::array<std::string_view, 5> begins{"[CLS]", "<s>", "<bos>", "<|begin_of_text|>",
                                                     "<|endoftext|>"};
    constexpr std::array<std::string_view, 5> ends{"[SEP]", "</s>", "<eos>", "<|end_of_text|>",
                                                   "<|endoftext|>"};
    SpecialIds ids;
    ids.pad = number_of(parts, names.pad);
    ids.mask = number_of(parts, names.mask);
    ids.unk = number_of(parts, names.unk);
    ids.bos = number_of(parts, names.bos);
    ids.eos = number_of(parts, names.eos);
    const auto first = std::find_if(parts.frame.begin(), parts.frame.end(), [](const FramePart& part) {
        return part.what == FramePart::What::first;
    });
    // BERT's [CLS] and [SEP] are what begins and ends a text there.
    if (ids.bos < 0)
        ids.bos = first != parts.frame.begin() ? parts.frame.front().id : number_of(parts, names.cls);
    if (ids.eos < 0 && first != parts.frame.end())
        ids.eos = first + 1 != parts.frame.end() ? parts.frame.back().id : number_of(parts, names.sep);
    if (ids.pad < 0) ids.pad = first_known(parts, pads);
    if (ids.mask < 0) ids.mask = first_known(parts, masks);
    if (ids.unk < 0) ids.unk = parts.model->unknown();
    if (ids.eos < 0) ids.eos = first_known(parts, ends);
    // What adds an end alone, as T5 does, has no beginning.
    if (ids.bos < 0 && parts.frame.size() == 1) ids.bos = first_known(parts, begins);
    return ids;
}

std::shared_ptr<const PipelineTokenizer> read_tokenizer_json(std::string_view text, const std::string& name,
                                                             const SpecialNames& names,
                                                             std::vector<TokenizerFile> files) {
    const auto parsed = base::parse_json(text, name);
    if (!parsed.error.empty()) throw base::InputError(parsed.error);
    static const base::Json nothing;
    const JsonField root(name, parsed.value), null(name, nothing);
    root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
               "post_processor", "decoder", "model"});
    if (const auto version = root.find("version"); version && version->text() != "1.0")
        version->fail("is '" + version->text() + "'; expected '1.0'");
    const auto part = [&](const char* key) { return root.find(key).value_or(null); };
    TokenizerParts parts;
    const auto model = root.at("model"), pre_tokenizer = part("pre_tokenizer"), decoder = part("decoder");
    const bool bytes = can_keep_bytes(pre_tokenizer, model);
    parts.normalizers = read_normalizers(part("normalizer"));
    parts.pre_tokenizers = read_pre_tokenizers(pre_tokenizer, bytes);
    parts.model = read_word_model(model, bytes);
    if (const auto added = root.find("added_tokens")) parts.added = read_added_tokens(*added, *parts.model);
    parts.decoders = read_decoders(decoder);
    parts.decodes = !decoder.is_null();
    read_frames(part("post_processor"), parts);
    parts.specials = find_specials(parts, names);
    parts.files =
        files.empty() ? std::vector<TokenizerFile>{{"tokenizer.json", std::string(text)}} : std::move(files);
    return std::make_shared<const PipelineTokenizer>(std::move(parts));
}

}  // namespace switchyard::data
