#include "core/workbench/model/weights/adapter_config.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::model {
namespace {

using base::Json;

class Reader {
public:
    Reader(std::string file, const Json& json) : file_(std::move(file)), json_(json) {}

    AdapterConfig read() const {
        if (const auto type = base::text_of(json_, "peft_type"); type != "LORA")
            refuse("peft_type", type.empty() ? "is missing" : "is \"" + type + "\"", "\"LORA\"");
        for (const char* const key : {"use_dora", "use_rslora", "use_qalora", "lora_bias"}) {
            const auto& value = base::member(json_, key);
            if (value.is_boolean() && value.get<bool>()) refuse(key, "is true", "false");
        }
        if (const auto bias = base::text_of(json_, "bias"); !bias.empty() && bias != "none")
            refuse("bias", "is \"" + bias + "\"", "\"none\"");
        AdapterConfig adapter;
        adapter.rank = whole("r", json_, 8);
        adapter.alpha = positive("lora_alpha", json_, 8.0);
        adapter.base = base::text_of(json_, "base_model_name_or_path");
        adapter.task = base::text_of(json_, "task_type");
        const auto& transposed = base::member(json_, "fan_in_fan_out");
        adapter.transposed = transposed.is_boolean() && transposed.get<bool>();
        adapter.targets = texts("target_modules");
        adapter.whole = texts("modules_to_save");
        const auto& ranks = base::member(json_, "rank_pattern");
        const auto& alphas = base::member(json_, "alpha_pattern");
        if (ranks.is_object())
            for (const auto& [module, value] : ranks.items())
                adapter.ranks[module] = whole(module.c_str(), ranks, 8);
        if (alphas.is_object())
            for (const auto& [module, value] : alphas.items())
                adapter.alphas.emplace_back(plain(module), positive(module.c_str(), alphas, 8.0));
        return adapter;
    }

private:
    [[noreturn]] void refuse(const std::string& key, const std::string& got,
                             const std::string& expected) const {
        throw base::InputError(file_ + ": error: " + key + " " + got + "; expected " + expected);
    }

    // PEFT takes the keys for regular expressions; nearly all are names.
    const std::string& plain(const std::string& module) const {
        if (module.find_first_of("\\*+?()[]{}|^$", module.starts_with('^') ? 1 : 0) != std::string::npos)
            refuse("alpha_pattern", "has the regular expression \"" + module + "\"",
                   "names of modules, or how these end");
        return module;
    }

    std::int64_t whole(const char* key, const Json& object, std::int64_t otherwise) const {
        const auto& value = base::member(object, key);
        if (value.is_null()) return otherwise;
        const auto number = base::integer_of(value);
        if (!number || *number < 1 || *number > (1 << 20))
            refuse(key, "is " + base::shown(value), "a whole number from 1");
        return *number;
    }

    double positive(const char* key, const Json& object, double otherwise) const {
        const auto& value = base::member(object, key);
        if (value.is_null()) return otherwise;
        const auto number = base::number_of(object, key);
        if (!number || *number <= 0.0) refuse(key, "is " + base::shown(value), "a number above 0");
        return *number;
    }

    std::vector<std::string> texts(const char* key) const {
        std::vector<std::string> all;
        const auto& value = base::member(json_, key);
        if (value.is_string()) return {value.get<std::string>()};
        if (!value.is_array()) return all;
        for (const auto& item : value)
            if (item.is_string()) all.push_back(item.get<std::string>());
        return all;
    }

    std::string file_;
    const Json& json_;
};

// As get_pattern_key of peft, utils/other.py: re.match(rf"(.*\.)?({key})$", module).
bool is_meant(std::string_view key, std::string_view module) {
    if (key.starts_with('^')) return module == key.substr(1);
    if (!module.ends_with(key)) return false;
    return module.size() == key.size() || module[module.size() - key.size() - 1] == '.';
}

}  // namespace

double AdapterConfig::scale(const std::string& module, std::int64_t its_rank) const {
    const auto found =
        std::ranges::find_if(alphas, [&](const auto& one) { return is_meant(one.first, module); });
    return (found != alphas.end() ? found->second : alpha) / static_cast<double>(its_rank);
}

AdapterConfig read_adapter_config(const std::string& folder) {
    const auto file = folder + "/" + adapter_config_file;
    const auto text = base::read_text(file);
    if (!text) {
        std::error_code ignored;
        const bool there = std::filesystem::exists(folder, ignored);
        throw base::InputError(
            folder + ": error: " + (there ? "has no adapter_config.json" : "there is no such folder") +
            "; expected the folder of an adapter, as a run leaves it in adapter or PEFT writes it");
    }
    const auto json = base::parse_object(*text, file);
    return Reader(file, json).read();
}

std::string task_type_of(config::TaskKind task) {
    using Kind = config::TaskKind;
    switch (task) {
        case Kind::classification:
        case Kind::multi_label:
        case Kind::regression:
            return "SEQ_CLS";
        case Kind::token_classification:
            return "TOKEN_CLS";
        case Kind::causal_lm:
            return "CAUSAL_LM";
        case Kind::seq2seq:
            return "SEQ_2_SEQ_LM";
        default:
            return "";
    }
}

std::string to_adapter_config(const AdapterConfig& adapter) {
    Json json;
    json["alpha_pattern"] = Json::object();
    for (const auto& [module, alpha] : adapter.alphas) json["alpha_pattern"][module] = alpha;
    json["base_model_name_or_path"] = adapter.base;
    json["bias"] = "none";
    json["fan_in_fan_out"] = adapter.transposed;
    json["inference_mode"] = true;
    json["init_lora_weights"] = true;
    json["lora_alpha"] = adapter.alpha;
    json["lora_dropout"] = 0.0;
    json["modules_to_save"] = adapter.whole.empty() ? Json() : Json(adapter.whole);
    json["peft_type"] = "LORA";
    json["r"] = adapter.rank;
    json["rank_pattern"] = Json::object();
    for (const auto& [module, rank] : adapter.ranks) json["rank_pattern"][module] = rank;
    json["target_modules"] = adapter.targets;
    json["task_type"] = adapter.task.empty() ? Json() : Json(adapter.task);
    json["use_dora"] = false;
    json["use_rslora"] = false;
    return json.dump(2) + "\n";
}

}  // namespace switchyard::model
