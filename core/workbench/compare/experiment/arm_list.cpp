#include "core/workbench/compare/experiment/arm_list.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/table.h"
#include "core/workbench/compare/experiment/arm_keys.h"
#include "core/workbench/compare/experiment/stack_arm.h"

namespace switchyard::compare {
namespace {

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// At `separator`, but not within brackets or quotes. Empty parts stay.
std::vector<std::string> split_outside(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    int depth = 0;
    char quote = '\0';
    for (const char c : text) {
        if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[' || c == '{')
            ++depth;
        else if (c == ']' || c == '}')
            --depth;
        if (c == separator && depth == 0 && quote == '\0')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

std::string unquoted(const std::string& word) {
    const bool quoted =
        word.size() > 1 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front();
    return quoted ? word.substr(1, word.size() - 2) : word;
}

void add_word(std::string& text, const std::string& word) {
    if (!text.empty()) text += ' ';
    text += word;
}

class Lister {
public:
    void add_product(const std::vector<std::string>& vary, bool one_at_a_time) {
        std::vector<ArmSpec> product(vary.empty() ? 0 : 1);
        for (const auto& text : vary) {
            const auto choices = read_vary(text);
            std::vector<ArmSpec> next;
            for (const auto& arm : product) {
                const bool changed =
                    std::ranges::any_of(arm.levels, [](std::size_t level) { return level > 0; });
                for (std::size_t level = 0; level < choices.size(); ++level) {
                    if (one_at_a_time && changed && level > 0) break;
                    next.push_back(arm);
                    next.back().overrides.push_back(choices[level]);
                    next.back().levels.push_back(level);
                    add_word(next.back().name, short_name(choices[level]));
                }
            }
            product = std::move(next);
        }
        for (auto& arm : product) {
            arm.written_in = "--vary";
            add_again(std::move(arm));
        }
    }

    void add_stack(const std::string& text) {
        ArmSpec arm;
        arm.written_in = "--stacks";
        const auto error = read_stack(text, arm);
        if (!error.empty()) return complain("--stacks '" + base::quoted(text) + "'", error);
        add_again(std::move(arm));
    }

    void add_written(const std::string& text) {
        const auto colon = text.find(':');
        ArmSpec arm;
        arm.written_in = "--arm";
        arm.name = trimmed(text.substr(0, std::min(colon, text.size())));
        if (colon == std::string::npos || arm.name.empty())
            return complain("--arm '" + base::quoted(text) + "'",
                            "expected \"NAME: KEY=VALUE KEY=VALUE\", such as \"flash bf16: "
                            "attention.backend=flash precision.backend=torch/bf16\"");
        for (const auto& word : split_outside(text.substr(colon + 1), ' ')) {
            if (word.empty()) continue;
            if (word.find('=') == std::string::npos)
                return complain("--arm '" + base::quoted(text) + "'",
                                "'" + base::quoted(word) + "' is not KEY=VALUE");
            arm.overrides.push_back(word);
        }
        add(std::move(arm));
    }

    void add_program(const std::string& text) {
        const auto colon = text.find(':');
        ArmSpec arm;
        arm.name = trimmed(text.substr(0, colon));
        for (const auto& word : split_outside(text.substr(colon + 1), ' ')) {
            if (!word.empty()) arm.program.push_back(unquoted(word));
        }
        if (arm.name.empty())
            return complain("--arm '" + base::quoted(text) + "'", "expected \"NAME: COMMAND\"");
        add(std::move(arm));
    }

    void add_table(const config::ArmConfig& table) {
        ArmSpec arm;
        arm.written_in = config::to_string(table.origin);
        arm.name = table.name;
        arm.overrides = table.set;
        arm.program = table.program;
        arm.folder = table.folder;
        if (arm.name.empty() && arm.external()) {
            for (const auto& word : arm.program)
                add_word(arm.name, std::filesystem::path(word).filename().string());
        }
        if (arm.name.empty()) {
            for (const auto& set : arm.overrides) add_word(arm.name, short_name(set));
        }
        if (arm.name.empty()) arm.name = "as configured";
        add(std::move(arm));
    }

    // `least`: see list_arms.
    ArmList finish(std::size_t least) {
        const bool only_programs =
            std::ranges::all_of(list_.arms, [](const ArmSpec& arm) { return arm.external(); });
        const bool lone = least > 1 ? list_.arms.size() == 1 : only_programs;
        if (list_.problems.empty() && lone)
            list_.arms.insert(list_.arms.begin(),
                              ArmSpec{.name = names_.contains("as configured") ? "base" : "as configured",
                                      .overrides = {},
                                      .program = {},
                                      .folder = "",
                                      .differs = {}});
        if (list_.problems.empty() && list_.arms.empty())
            complain("there is nothing to compare",
                     "say --stacks naive,torch or --vary attention.backend=naive,torch, or write [[arm]] "
                     "tables into the configuration");
        for (auto& arm : list_.arms) {
            if (const auto problem = read_arm_keys(arm); !problem.empty())
                complain("arm " + arm.name, problem);
        }
        const auto internal = std::count_if(list_.arms.begin(), list_.arms.end(),
                                            [](const ArmSpec& arm) { return !arm.external(); });
        if (list_.problems.empty() && internal == 0)
            complain("all arms are external programs",
                     "at least one must be a configuration: external programs load its weights and batches");
        return std::move(list_);
    }

private:
    void complain(const std::string& where, const std::string& what) {
        list_.problems.push_back(where + ": " + what);
    }

    std::vector<std::string> read_vary(const std::string& text) {
        const auto equals = text.find('=');
        const auto key = config::override_key(text);
        std::vector<std::string> choices;
        if (equals != std::string::npos && !key.empty()) {
            for (const auto& value : split_outside(text.substr(equals + 1), ',')) {
                if (trimmed(value).empty()) {
                    choices.clear();
                    break;
                }
                choices.push_back(key + "=" + trimmed(value));
            }
        }
        if (choices.empty())
            complain("--vary '" + base::quoted(text) + "'",
                     "expected KEY=VALUE,VALUE, such as attention.backend=naive,torch");
        return choices;
    }

    // What stands twice is wanted twice: an arm against itself.
    void add_again(ArmSpec arm) {
        const std::string plain = arm.name;
        for (int copy = 2; names_.contains(arm.name); ++copy) arm.name = plain + " #" + std::to_string(copy);
        add(std::move(arm));
    }

    void add(ArmSpec arm) {
        if (!names_.insert(arm.name).second) return complain("arm " + arm.name, "there are two of this name");
        list_.arms.push_back(std::move(arm));
    }

    ArmList list_;
    std::set<std::string> names_;
};

// The layout of batches is how the same samples stand in memory: that is compared. Where passes are over
// samples, they may be put into any batches, but for what is cut off them.
bool should_be_equal(const std::string& key, Operation operation, bool other_batches) {
    if (key == "batch.layout") return false;
    if ((is_over_samples(operation) || other_batches) && key.starts_with("batch."))
        return key == "batch.max_length";
    for (const char* section : {"model.", "data.", "batch.", "task."}) {
        if (key.starts_with(section)) return true;
    }
    // A step of more batches has other samples.
    if (key == "train.grad_accumulation_steps") return operation == Operation::step && !other_batches;
    return key == "run.seed" || key == "train.weights";
}

std::vector<const config::Field*> shared_fields(Operation operation, bool other_batches) {
    std::vector<const config::Field*> fields;
    for (const auto& section : config::sections())
        for (const auto& field : section.fields)
            if (should_be_equal(field.key, operation, other_batches)) fields.push_back(&field);
    return fields;
}

// `["/data/a.tsv", "b.tsv"]` without the folders.
std::string names_alone(const std::string& paths) {
    std::string text;
    std::size_t begin = 0;  // of the path in progress
    for (const char c : paths) {
        text += c;
        if (c == '/')
            text.resize(begin);
        else if (c == '"')
            begin = text.size();
    }
    return text;
}

}  // namespace

std::string short_name(const std::string& override) {
    const auto equals = override.find('=');
    std::string key = override.substr(0, equals);
    if (key.ends_with(".backend")) key.resize(key.size() - 8);
    return key + override.substr(equals);
}

ArmList list_arms(const WrittenArms& written, const std::vector<config::ArmConfig>& tables,
                  std::size_t least) {
    Lister lister;
    lister.add_product(written.vary, written.one_at_a_time);
    for (const auto& text : written.stacks) lister.add_stack(text);
    for (const auto& text : written.arms) lister.add_written(text);
    for (const auto& text : written.programs) lister.add_program(text);
    for (const auto& table : tables) lister.add_table(table);
    return lister.finish(least);
}

std::vector<std::string> unfair_differences(const config::Config& base, const config::Config& arm,
                                            Operation operation, bool other_batches) {
    std::vector<std::string> list;
    for (const auto* field : shared_fields(operation, other_batches)) {
        const auto theirs = config::value_text(*field, field->get(arm));
        const auto ours = config::value_text(*field, field->get(base));
        if (theirs != ours) list.push_back(field->key + ": " + theirs + ", the base has " + ours);
    }
    return list;
}

std::map<std::string, std::string> shared_values(const config::Config& config, Operation operation) {
    std::map<std::string, std::string> values;
    for (const auto* field : shared_fields(operation, false)) {
        const auto text = config::value_text(*field, field->get(config));
        values[field->key] = field->notes.path ? names_alone(text) : text;
    }
    return values;
}

}  // namespace switchyard::compare
