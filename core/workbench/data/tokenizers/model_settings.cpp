#include "core/workbench/data/tokenizers/model_settings.h"

#include <array>
#include <utility>

#include "core/kernel/base/json_text.h"

namespace switchyard::data {
namespace {

// A text, or an object with one ("content").
std::string name_of(const base::Json& value) {
    return value.is_string() ? value.get<std::string>() : base::text_of(value, "content");
}

}  // namespace

const std::vector<std::string> settings_files{"tokenizer_config.json", "special_tokens_map.json"};

ModelSettings read_model_settings(const std::vector<TokenizerFile>& files) {
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
    return settings;
}

}  // namespace switchyard::data
