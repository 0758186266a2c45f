#include "core/workbench/data/tokenizers/model_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::data {
namespace {

// A text, or an object with one ("content").
std::string name_of(const base::Json& value) {
    return value.is_string() ? value.get<std::string>() : base::text_of(value, "content");
}

bool is_added_tokens(const TokenizerFile& file) { return file.name.ends_with(added_tokens_file); }

[[noreturn]] void refuse_number(const std::string& file, const std::string& token,
                                const std::string& number) {
    throw base::InputError(file + ": error: the added token '" + base::quoted(token) + "' has the number " +
                           base::quoted(number) + "; expected a whole number");
}

// {"50257": {"content": "<|user|>", ...}}, with what transformers takes for what is not said.
std::vector<AddedToken> added_of_decoder(const base::Json& object, const std::string& file) {
    std::vector<AddedToken> tokens;
    for (const auto& [number, said] : object.items()) {
        const auto flag = [&value = said](const char* key, bool otherwise) {
            const auto& is = base::member(value, key);
            return is.is_boolean() ? is.get<bool>() : otherwise;
        };
        AddedToken token;
        token.content = base::text_of(said, "content");
        const auto* const end = number.data() + number.size();
        const auto read = std::from_chars(number.data(), end, token.id);
        if (read.ec != std::errc() || read.ptr != end || token.id < 0)
            refuse_number(file, token.content, number);
        token.special = flag("special", false);
        token.normalized = flag("normalized", !token.special);
        token.single_word = flag("single_word", false);
        token.lstrip = flag("lstrip", false);
        token.rstrip = flag("rstrip", false);
        if (!token.content.empty()) tokens.push_back(std::move(token));
    }
    return tokens;
}

// {"<|user|>": 50257}; what is named as a special token is one.
std::vector<AddedToken> added_of_map(const base::Json& object, const std::string& file,
                                     const std::vector<std::string>& special) {
    std::vector<AddedToken> tokens;
    for (const auto& [content, number] : object.items()) {
        const auto id = base::integer_of(number);
        if (!id || *id < 0) refuse_number(file, content, base::shown(number));
        AddedToken token{content, *id};
        token.special = std::find(special.begin(), special.end(), content) != special.end();
        token.normalized = !token.special;
        if (!content.empty()) tokens.push_back(std::move(token));
    }
    return tokens;
}

void read_added(const std::vector<TokenizerFile>& files, ModelSettings& settings) {
    std::vector<std::string> special;
    const auto& names = settings.names;
    for (const auto* const name :
         {&names.pad, &names.bos, &names.eos, &names.cls, &names.sep, &names.unk, &names.mask})
        special.push_back(*name);
    for (const auto& file : files) {
        if (is_added_tokens(file)) continue;
        const auto object = base::parse_object(file.bytes, file.name);
        const auto& more = base::member(object, "additional_special_tokens");
        if (more.is_array())
            for (const auto& token : more) special.push_back(name_of(token));
        const auto& decoder = base::member(object, "added_tokens_decoder");
        if (!decoder.is_object() || !settings.added_file.empty()) continue;
        settings.added = added_of_decoder(decoder, file.name);
        settings.added_file = file.name;
    }
    for (const auto& file : files) {
        if (!is_added_tokens(file) || !settings.added_file.empty()) continue;
        settings.added = added_of_map(base::parse_object(file.bytes, file.name), file.name, special);
        settings.added_file = file.name;
    }
    std::stable_sort(settings.added.begin(), settings.added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
}

}  // namespace

const std::vector<std::string> settings_files{"tokenizer_config.json", "special_tokens_map.json",
                                              added_tokens_file};

void leave_out_added_tokens(std::vector<TokenizerFile>& files) {
    std::erase_if(files, [](const TokenizerFile& file) { return file.name == added_tokens_file; });
}

ModelSettings read_model_settings(const std::vector<TokenizerFile>& files, bool adds_tokens) {
    ModelSettings settings;
    auto& names = settings.names;
    const std::array<std::pair<const char*, std::string*>, 7> tokens{{{"pad_token", &names.pad},
                                                                      {"bos_token", &names.bos},
                                                                      {"eos_token", &names.eos},
                                                                      {"cls_token", &names.cls},
                                                                      {"sep_token", &names.sep},
                                                                      {"unk_token", &names.unk},
                                                                      {"mask_token", &names.mask}}};
    const std::array<std::pair<const char*, std::optional<bool>*>, 6> flags{
        {{"do_lower_case", &settings.lower_case},
         {"tokenize_chinese_chars", &settings.split_ideographs},
         {"strip_accents", &settings.strip_accents},
         {"add_bos_token", &settings.add_bos},
         {"add_eos_token", &settings.add_eos},
         {"add_prefix_space", &settings.add_prefix_space}}};
    for (const auto& file : files) {
        if (is_added_tokens(file)) continue;
        const auto object = base::parse_object(file.bytes, file.name);
        if (settings.tokenizer_class.empty())
            settings.tokenizer_class = base::text_of(object, "tokenizer_class");
        for (const auto& [key, name] : tokens) {
            if (name->empty()) *name = name_of(base::member(object, key));
        }
        for (const auto& [key, flag] : flags) {
            const auto& value = base::member(object, key);
            if (!*flag && value.is_boolean()) *flag = value.get<bool>();
        }
    }
    if (adds_tokens) read_added(files, settings);
    return settings;
}

}  // namespace switchyard::data
