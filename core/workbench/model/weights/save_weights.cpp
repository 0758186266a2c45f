#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/quantized_tensors.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/their_form.h"

namespace switchyard::model {
namespace {

// Whether the model has that linear layer, however its weight is stored.
bool has_linear(const Parameters& parameters, const std::string& name) {
    const auto is_it = [&](const QuantizedLayer& layer) { return layer.name == name; };
    return parameters.find(name + ".weight") != nullptr || std::ranges::any_of(parameters.quantized(), is_it);
}

// The class of transformers that has these parameters' heads.
std::string architecture_of(Family family, const Parameters& parameters) {
    const std::string name = family == Family::roberta      ? "Roberta"
                             : family == Family::distilbert ? "DistilBert"
                                                            : "Bert";
    if (family == Family::gpt2) return "GPT2LMHeadModel";
    if (family == Family::llama) return "LlamaForCausalLM";
    if (family == Family::t5 || family == Family::t5_gated) return "T5ForConditionalGeneration";
    if (family == Family::own) return "Switchyard";
    if (parameters.find("masked_lm.bias") != nullptr) return name + "ForMaskedLM";
    if (has_linear(parameters, "next_sentence")) return name + "ForNextSentencePrediction";
    if (!has_linear(parameters, "classifier")) return name + "Model";
    const bool pooled = has_linear(parameters, "pooler");
    return name + (pooled ? "ForSequenceClassification" : "ForTokenClassification");
}

// As transformers call what BertForSequenceClassification is trained for.
std::string problem_type_of(config::TaskKind kind) {
    switch (kind) {
        case config::TaskKind::classification:
            return "single_label_classification";
        case config::TaskKind::multi_label:
            return "multi_label_classification";
        case config::TaskKind::regression:
            return "regression";
        default:
            return "";
    }
}

// A regression's only number has no name of its own. Without labels transformers expect two outputs.
std::vector<std::string> labels_of(const config::TaskConfig& task) {
    if (task.kind == config::TaskKind::regression && task.labels.empty()) return {"LABEL_0"};
    return task.labels;
}

}  // namespace

base::FileError save_weights(const std::string& folder, const config::Config& config,
                             const Parameters& parameters, const SpecialTokens& tokens) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return "cannot create the folder " + folder + ": " + error.message();
    auto family = family_of(config);
    // transformers counts a RoBERTa's positions from the number of padding.
    if (family == Family::roberta && tokens.pad != 1) family = Family::own;
    std::vector<NamedTensor> tensors;
    for (const auto& theirs : their_tensors(family, parameters)) {
        const auto value = [&](const std::string& name) { return parameters.find(name)->value.detach(); };
        tensors.push_back({theirs.name, in_their_form(theirs, value)});
    }
    std::map<std::string, std::string> metadata{{"format", "pt"}};
    if (config.quantization.given()) metadata[quantization_metadata] = quantization_text(config.quantization);
    for (auto& tensor : quantized_tensors(parameters)) tensors.push_back(std::move(tensor));
    if (auto failed = write_safetensors(folder + "/model.safetensors", tensors, metadata)) return failed;
    const HuggingFaceFacts facts{architecture_of(family, parameters),
                                 labels_of(config.task),
                                 problem_type_of(config.task.kind),
                                 tokens.pad,
                                 tokens.bos,
                                 tokens.eos};
    return base::write_file_atomically(folder + "/config.json",
                                       to_huggingface_config(config.model, family, facts));
}

}  // namespace switchyard::model
