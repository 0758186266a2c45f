#include "core/workbench/model/weights/load_weights.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/weights/file_tensor.h"
#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/quantized_tensors.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/their_form.h"
#include "core/workbench/model/weights/unused_tensors.h"
#include "core/workbench/model/weights/weights_place.h"

namespace switchyard::model {
namespace {

bool belongs_to_a_head(std::string_view name) {
    constexpr std::array<std::string_view, 6> heads{"pooler.",        "classifier.", "masked_lm.",
                                                    "next_sentence.", "causal_lm.",  "seq2seq."};
    return std::any_of(heads.begin(), heads.end(), [&](auto head) { return name.starts_with(head); });
}

using Files = std::vector<FileTensor>;

std::int64_t matches(const Files& files, Family family, const Parameters& parameters) {
    const auto known = their_tensors(family, parameters);
    std::int64_t count = 0;
    for (const auto& stored : files) {
        const auto name = modern_name(family, stored.huggingface, known);
        count += std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    }
    return count;
}

// A pretrained model may be given something that its family does not have (a window, say), so the names of
// the files decide, and not the configuration.
Family family_in(const Files& files, const config::Config& config, const Parameters& parameters) {
    auto best = std::pair(family_of(config), matches(files, family_of(config), parameters));
    for (const auto family : {Family::bert, Family::roberta, Family::distilbert, Family::gpt2, Family::llama,
                              Family::t5, Family::t5_gated, Family::own}) {
        const auto count = matches(files, family, parameters);
        if (count > best.second) best = {family, count};
    }
    return best.first;
}

class Weights {
public:
    Weights(std::string file, Family family, const Parameters& parameters)
        : family_(family), parameters_(parameters), known_(their_tensors(family, parameters)) {
        result.file = std::move(file);
    }

    void take(const FileTensor& stored) {
        const auto name = modern_name(family_, stored.huggingface, known_);
        const auto known = std::find_if(known_.begin(), known_.end(),
                                        [&](const TheirTensor& tensor) { return tensor.name == name; });
        if (known == known_.end()) return leave(stored);
        const auto [before, first] = taken_.try_emplace(name, stored.name);
        if (!first)
            return problem(stored.file, "'" + base::quoted(stored.name) + "' and '" +
                                            base::quoted(before->second) + "' are both " + ours_of(*known));
        if (const auto expected = shape_of(*known, parameters_); at::IntArrayRef(stored.shape) != expected) {
            return problem(stored.file, "tensor '" + base::quoted(stored.name) + "' has shape " +
                                            shape_text(stored.shape) + ", but " + ours_of(*known) +
                                            " of the configured model has " + shape_text(expected));
        }
        if (!stored.problem.empty())
            return problem(stored.file, "tensor '" + base::quoted(stored.name) + "' " + stored.problem);
        values_.emplace_back(&*known, stored.value);
    }

    void find_missing() {
        for (const auto& theirs : known_) {
            if (taken_.contains(theirs.name)) continue;
            for (const auto& part : theirs.parts) {
                if (is_low_rank(part.ours)) continue;
                if (belongs_to_a_head(part.ours)) {
                    result.fresh.push_back(part.ours);
                    continue;
                }
                problem(result.file, "has no tensor for " + part.ours + " (" + theirs.name + ", shape " +
                                         shape_text(shape_of(theirs, parameters_)) + ")");
            }
        }
    }

    void copy() const {
        for (const auto& [theirs, value] : values_) set_from(*theirs, value(), parameters_);
    }

    std::vector<std::string> unlike() const {
        auto names = result.fresh;
        for (const auto& [theirs, value] : values_) add_unlike(*theirs, value(), parameters_, names);
        std::erase_if(names, [](const std::string& name) { return is_low_rank(name); });
        return names;
    }

    LoadedWeights result;

private:
    // A bias changes what the model computes; zeros do not.
    void leave(const FileTensor& stored) {
        result.unused.push_back(stored.name);
        const auto* const weight = weight_of_bias(family_, stored.huggingface, known_);
        if (weight == nullptr ||
            (stored.problem.empty() && !stored.value().to(at::kFloat).any().item<bool>()))
            return;
        problem(stored.file, "has the tensor '" + base::quoted(stored.name) + "', but " + ours_of(*weight) +
                                 " of the configured model has no bias: it would compute other numbers "
                                 "than what was trained");
    }

    void problem(const std::string& file, const std::string& text) {
        result.problems.push_back(file + ": " + text);
    }

    static std::string ours_of(const TheirTensor& theirs) {
        std::string names;
        for (const auto& part : theirs.parts) base::add_item(names, part.ours, " with ");
        return names;
    }

    Family family_;
    const Parameters& parameters_;
    std::vector<TheirTensor> known_;
    std::map<std::string, std::string> taken_;  // today's name -> the file's
    std::vector<std::pair<const TheirTensor*, std::function<at::Tensor()>>> values_;
};

// What the files of a place hold.
struct Opened {
    std::vector<std::string> problems;
    Files tensors;
    std::string made;  // how layers were quantized
    std::string note;  // IndexDifferences
};

Opened open_files(const WeightsPlace& place) {
    Opened found;
    std::map<std::string, std::shared_ptr<const SafetensorsFile>> files;
    for (const auto& path : place.files) {
        auto opened = SafetensorsFile::open(path);
        if (!opened.file) return {{opened.error}, {}, {}, {}};
        for (auto& tensor : file_tensors(opened.file)) found.tensors.push_back(std::move(tensor));
        const auto& metadata = opened.file->metadata();
        if (const auto said = metadata.find(quantization_metadata); said != metadata.end())
            found.made = said->second;
        files[path] = std::move(opened.file);
    }
    auto differences = index_differences(place, files);
    found.problems = std::move(differences.problems);
    found.note = std::move(differences.note);
    return found;
}

Opened open_gguf(const std::string& path) {
    const auto opened = gguf::File::open(path);
    if (!opened.file) return {{opened.error}, {}, {}, {}};
    const auto described = read_gguf_model(*opened.file);
    if (!described.error.empty()) return {{described.error}, {}, {}, {}};
    return {{}, file_tensors(opened.file, described.family, described.model), {}, {}};
}

Opened open_place(const WeightsPlace& place) {
    if (!place.problem.empty()) return {{place.problem}, {}, {}, {}};
    return place.gguf ? open_gguf(place.file) : open_files(place);
}

}  // namespace

LoadedWeights load_weights(const std::string& path, const config::Config& config, Parameters& parameters) {
    const auto place = find_weights(path);
    auto opened = open_place(place);
    if (!opened.problems.empty()) return {std::move(opened.problems), {}, {}, place.file};
    Weights loading(place.file, family_in(opened.tensors, config, parameters), parameters);
    loading.result.index_note = std::move(opened.note);
    QuantizedLoading quantized(config.quantization, parameters);
    for (const auto& tensor : opened.tensors) {
        if (QuantizedLoading::is_quantized_tensor(tensor.name))
            quantized.take(tensor);
        else
            loading.take(tensor);
    }
    loading.find_missing();
    auto& found = loading.result.problems;
    const auto problems = quantized.problems(place.file, opened.made);
    found.insert(found.begin(), problems.begin(), problems.end());
    if (!found.empty()) return std::move(loading.result);
    loading.copy();
    quantized.set();
    return std::move(loading.result);
}

std::vector<std::string> names_unlike(const std::string& path, const config::Config& config,
                                      const Parameters& parameters) {
    const auto place = find_weights(path);
    const auto refuse = [](const std::vector<std::string>& problems) {
        if (!problems.empty()) throw base::InputError(problems.front());
    };
    const auto opened = open_place(place);
    refuse(opened.problems);
    Weights file(place.file, family_in(opened.tensors, config, parameters), parameters);
    for (const auto& tensor : opened.tensors) file.take(tensor);
    file.find_missing();
    refuse(file.result.problems);
    return file.unlike();
}

}  // namespace switchyard::model
