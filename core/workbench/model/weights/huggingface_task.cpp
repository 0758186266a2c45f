#include "core/workbench/model/weights/huggingface_task.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::model {
namespace {

using base::Json;
using config::TaskKind;

constexpr std::array encoders{"Bert", "Roberta", "DistilBert"};
constexpr std::array<std::pair<std::string_view, TaskKind>, 3> encoder_heads{
    {{"ForSequenceClassification", TaskKind::classification},
     {"ForTokenClassification", TaskKind::token_classification},
     {"ForMaskedLM", TaskKind::masked_lm}}};
constexpr std::array<std::pair<std::string_view, TaskKind>, 4> whole_names{
    {{"BertForNextSentencePrediction", TaskKind::next_sentence},
     {"GPT2LMHeadModel", TaskKind::causal_lm},
     {"LlamaForCausalLM", TaskKind::causal_lm},
     {"T5ForConditionalGeneration", TaskKind::seq2seq}}};
constexpr const char* understood =
    "expected ForSequenceClassification, ForTokenClassification or ForMaskedLM behind Bert, Roberta or "
    "DistilBert, or BertForNextSentencePrediction, GPT2LMHeadModel, LlamaForCausalLM or "
    "T5ForConditionalGeneration, a model with the head of a task";

// Of a model that is saved under our names (huggingface_family.h), whose class tells no task.
constexpr std::string_view own_architecture = "Switchyard";

constexpr std::array<std::pair<std::string_view, TaskKind>, 3> problem_types{
    {{"single_label_classification", TaskKind::classification},
     {"multi_label_classification", TaskKind::multi_label},
     {"regression", TaskKind::regression}}};

// As transformers call outputs that nobody named, and how many there are where nothing is said of them.
constexpr const char* unnamed = "LABEL_";
constexpr std::int64_t usual_labels = 2;
constexpr auto most_labels = static_cast<std::int64_t>(base::limits::vocabulary_entries);

template <class Pairs>
std::optional<TaskKind> find(const Pairs& pairs, std::string_view name) {
    const auto found =
        std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
    if (found == pairs.end()) return std::nullopt;
    return found->second;
}

class Reading {
public:
    Reading(const std::string& path, Heads heads) : path_(path), heads_(heads) {}

    config::TaskConfig task() {
        const auto text = base::read_text(path_);
        if (!text) throw base::InputError(path_ + ": error: is not there; expected a config.json");
        object_ = base::parse_object(*text, path_);
        config::TaskConfig task;
        task.kind = kind_of(architecture());
        if (task.kind == TaskKind::classification) task.kind = kind_of_sequences();
        const bool has_labels = !task.predicts_tokens() && task.kind != TaskKind::next_sentence;
        if (has_labels) task.labels = labels();
        const bool one_number = task.kind == TaskKind::regression && task.labels.size() == 1;
        if (one_number && task.labels.front() == std::string(unnamed) + "0") task.labels.clear();
        return task;
    }

private:
    [[noreturn]] void fail(const char* key, const std::string& what) const {
        throw base::InputError(path_ + ": error: " + key + ": " + what);
    }

    std::string architecture() const {
        const auto& list = base::member(object_, "architectures");
        if (!list.is_array() || list.size() != 1 || !list[0].is_string())
            fail("architectures", "does not name one class of transformers; " + std::string(understood));
        return list[0].get<std::string>();
    }

    TaskKind kind_of(const std::string& architecture) const {
        if (architecture == own_architecture) return kind_of_own();
        if (const auto kind = find(whole_names, architecture)) return *kind;
        for (const std::string_view encoder : encoders) {
            if (!architecture.starts_with(encoder)) continue;
            const auto head = std::string_view(architecture).substr(encoder.size());
            if (const auto kind = find(encoder_heads, head)) return *kind;
            if (heads_ == Heads::optional && head == "Model") return TaskKind::masked_lm;
        }
        fail("architectures", "'" + base::quoted(architecture) + "' is not understood; " + understood);
    }

    TaskKind kind_of_own() const {
        const auto type = base::text_of(base::member(object_, "model"), "type");
        if (type == "gpt") return TaskKind::causal_lm;
        if (type == "t5") return TaskKind::seq2seq;
        if (object_.contains("problem_type")) return TaskKind::classification;
        return object_.contains("id2label") ? TaskKind::token_classification : TaskKind::masked_lm;
    }

    TaskKind kind_of_sequences() const {
        const auto& type = base::member(object_, "problem_type");
        if (type.is_null()) return labels().size() == 1 ? TaskKind::regression : TaskKind::classification;
        const auto kind = type.is_string() ? find(problem_types, type.get<std::string>()) : std::nullopt;
        if (!kind)
            fail("problem_type",
                 "is " +
                     (type.is_string() ? "'" + base::quoted(type.get<std::string>()) + "'"
                                       : base::kind_of(type)) +
                     "; expected single_label_classification, multi_label_classification or regression");
        return *kind;
    }

    std::vector<std::string> labels() const {
        const auto& names = base::member(object_, "id2label");
        if (!names.is_null() && !names.is_object())
            fail("id2label", "is " + base::kind_of(names) + "; expected the label of each number");
        std::vector<std::string> labels;
        if (names.is_null()) {
            for (std::int64_t i = 0; i < unnamed_labels(); ++i) labels.push_back(unnamed + std::to_string(i));
            return labels;
        }
        if (names.empty()) fail("id2label", "is empty; expected the label of each number");
        labels.resize(names.size());
        for (const auto& [key, name] : names.items()) labels[number_of(key, names.size())] = label(key, name);
        return labels;
    }

    // As many different numbers below `count` as there are names are all of them.
    std::size_t number_of(const std::string& key, std::size_t count) const {
        std::size_t number = 0;
        const auto* const end = key.data() + key.size();
        const auto [stopped, error] = std::from_chars(key.data(), end, number);
        if (error == std::errc() && stopped == end && number < count && key == std::to_string(number))
            return number;
        fail("id2label", "has '" + base::quoted(key) + "' among its " + std::to_string(count) +
                             " names; expected one for each number from 0 to " + std::to_string(count - 1));
    }

    std::string label(const std::string& key, const Json& name) const {
        if (!name.is_string())
            fail("id2label", "has " + base::kind_of(name) + " for the number " + key + "; expected a text");
        return name.get<std::string>();
    }

    std::int64_t unnamed_labels() const {
        const auto& number = base::member(object_, "num_labels");
        if (number.is_null()) return usual_labels;
        const auto count = base::integer_of(number);
        if (!count || *count < 1 || *count > most_labels)
            fail("num_labels", "expected a number from 1 to " + std::to_string(most_labels));
        return *count;
    }

    const std::string& path_;
    Heads heads_;
    Json object_;
};

}  // namespace

HuggingFaceTask read_huggingface_task(const std::string& path, Heads heads) {
    try {
        return {Reading(path, heads).task(), ""};
    } catch (const base::InputError& error) {
        return {{}, error.what()};
    }
}

}  // namespace switchyard::model
