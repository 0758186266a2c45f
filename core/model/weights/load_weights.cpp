#include <switchyard/model/weights/load_weights.h>

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <ATen/core/grad_mode.h>

#include <switchyard/model/weights/huggingface_config.h>
#include <switchyard/model/weights/huggingface_names.h>
#include <switchyard/model/weights/tensors.h>

namespace switchyard::model {
namespace {

bool belongs_to_a_head(std::string_view name) {
    constexpr std::array<std::string_view, 4> heads{"pooler.", "classifier.", "masked_lm.", "next_sentence."};
    for (const auto head : heads) {
        if (name.starts_with(head)) return true;
    }
    return false;
}

std::string shape_text(at::IntArrayRef shape) {
    std::ostringstream text;
    text << shape;
    return text.str();
}

// Either the file itself or the one in a folder of Hugging Face's.
std::string weights_file(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) ? path + "/model.safetensors" : path;
}

// The class of transformers that has these parameters' heads.
std::string architecture_of(const Parameters& parameters) {
    if (parameters.find("masked_lm.bias") != nullptr) return "BertForMaskedLM";
    if (parameters.find("next_sentence.weight") != nullptr) return "BertForNextSentencePrediction";
    if (parameters.find("classifier.weight") == nullptr) return "BertModel";
    const bool pooled = parameters.find("pooler.weight") != nullptr;
    return pooled ? "BertForSequenceClassification" : "BertForTokenClassification";
}

struct Found {
    const ModelParameter* parameter;
    at::Tensor value;
};

}  // namespace

LoadedWeights load_weights(const std::string& path, const config::ModelConfig& model,
                           Parameters& parameters) {
    LoadedWeights result;
    result.file = weights_file(path);
    const auto opened = SafetensorsFile::open(result.file);
    if (!opened.file) {
        result.problems.push_back(opened.error);
        return result;
    }

    std::vector<Found> found;
    std::map<std::string, std::string> taken;  // our name -> theirs
    for (const auto& stored : opened.file->tensors()) {
        const auto ours = from_huggingface(model.type, stored.name);
        const auto* parameter = ours ? parameters.find(*ours) : nullptr;
        if (parameter == nullptr) {
            result.unused.push_back(stored.name);
            continue;
        }
        const auto [before, first] = taken.try_emplace(*ours, stored.name);
        if (!first)
            result.problems.push_back(result.file + ": '" + stored.name + "' and '" + before->second +
                                      "' are both " + *ours);
        if (at::IntArrayRef(stored.shape) != parameter->value.sizes()) {
            result.problems.push_back(result.file + ": tensor '" + stored.name + "' has shape " +
                                      shape_text(stored.shape) + ", but " + *ours +
                                      " of the configured model has " + shape_text(parameter->value.sizes()));
            continue;
        }
        found.push_back({parameter, view_stored(opened.file, stored)});
        if (!found.back().value.is_floating_point()) {
            result.problems.push_back(result.file + ": tensor '" + stored.name + "' has dtype " +
                                      std::string(stored.type->name) + "; expected floating-point weights");
        }
    }
    for (const auto& parameter : parameters.all()) {
        if (taken.contains(parameter.name)) continue;
        if (belongs_to_a_head(parameter.name)) {
            result.fresh.push_back(parameter.name);
            continue;
        }
        result.problems.push_back(result.file + ": has no tensor for " + parameter.name + " (" +
                                  to_huggingface(model.type, parameter.name).value_or(parameter.name) +
                                  ", shape " + shape_text(parameter.value.sizes()) + ")");
    }
    if (!result.problems.empty()) return result;

    const at::NoGradGuard no_grad;
    for (const auto& [parameter, value] : found) parameter->value.copy_(value);
    return result;
}

host::FileError save_weights(const std::string& folder, const config::ModelConfig& model,
                             const Parameters& parameters, const std::vector<std::string>& labels) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return "cannot make the folder " + folder + ": " + error.message();
    std::vector<NamedTensor> tensors;
    for (const auto& parameter : parameters.all()) {
        tensors.push_back(
            {to_huggingface(model.type, parameter.name).value_or(parameter.name), parameter.value});
    }
    if (auto failed = write_safetensors(folder + "/model.safetensors", tensors, {{"format", "pt"}}))
        return failed;
    return host::write_file_atomically(folder + "/config.json",
                                       to_huggingface_config(model, architecture_of(parameters), labels));
}

}  // namespace switchyard::model
