#include "core/workbench/model/weights/merge_adapter.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <ATen/ops/matmul.h>
#include <nlohmann/json.hpp>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/weights_place.h"

namespace switchyard::model {
namespace {

namespace fs = std::filesystem;
using base::InputError;
using base::Json;

constexpr std::string_view adapter_prefix = "base_model.model.";

// How the names of an adapter's two tensors end.
struct Ends {
    std::string_view a, b;
    bool embedding;
};
constexpr std::array<Ends, 2> products{
    {{".lora_A.weight", ".lora_B.weight", false}, {".lora_embedding_A", ".lora_embedding_B", true}}};

// Parts of names: an embedding that has an adapter or other rows is saved as it was below the adapter, as it
// was before training and as it was trained (peft, utils/save_and_load.py).
constexpr std::string_view below = ".base_layer.", before = ".original_module.", saved = ".modules_to_save.";

bool has_part(const std::string& name, std::string_view part) { return name.find(part) != std::string::npos; }

std::string without_part(std::string name, std::string_view part) {
    if (const auto at = name.find(part); at != std::string::npos) name.replace(at, part.size(), ".");
    return name;
}

std::shared_ptr<const SafetensorsFile> opened(const std::string& path) {
    auto file = SafetensorsFile::open(path);
    if (!file.file) throw InputError(file.error);
    return file.file;
}

bool is_folder(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

class Merging {
public:
    Merging(const std::string& adapter, const std::string& base, const std::function<bool()>& stop)
        : path_(adapter + "/" + adapter_weights_file), adapter_(read_adapter_config(adapter)), stop_(stop) {
        file_ = opened(path_);
        base_ = base.empty() ? adapter_.base : base;
        if (!is_folder(base_))
            throw InputError(adapter + ": error: the model that it belongs to is " +
                             (base_.empty() ? "not named" : "\"" + base_ + "\", which is no folder here") +
                             "; expected its folder with --base FOLDER");
        const auto place = find_weights(base_);
        if (!place.problem.empty()) throw InputError(place.problem);
        if (place.gguf)
            throw InputError(base_ +
                             ": error: is a GGUF file; expected a folder of Hugging Face's, whose names "
                             "the adapter goes by");
        read_base(place);
    }

    void merge() {
        for (const auto& stored : file_->tensors()) {
            if (!stored.name.starts_with(adapter_prefix))
                throw InputError(path_ + ": error: tensor '" + stored.name +
                                 "': expected a name that begins with " + std::string(adapter_prefix));
            const auto name = name_of(stored);
            auto* const weight = has_part(name, below) ? find(without_part(name, below)) : nullptr;
            if (weight != nullptr) set(*weight, view_stored(file_, stored).to(weight->tensor.scalar_type()));
        }
        // A weight that was trained whole and has a product is the one with the other added.
        for (const bool products_now : {false, true}) {
            for (const auto& stored : file_->tensors()) {
                if (is_of_product(name_of(stored)) != products_now) continue;
                stop_if_told();
                take(stored);
            }
        }
        if (result.merged.empty() && result.whole.empty())
            throw InputError(path_ + ": error: has no tensors");
        head_is_apart_ = has_head_apart();
        if (head_is_apart_) refuse_scaled_head(config_in(base_));
        // Files of the model alone, as of a BertModel, leave out what a model with a head calls it.
        if (!prefix_.empty())
            for (auto& weight : weights_)
                if (!is_whole(weight.name)) weight.name = prefix_ + weight.name;
    }

    void write(const std::string& folder, const std::string& run_model) const {
        stop_if_told();
        if (auto error = write_safetensors(folder + "/model.safetensors", weights_, {{"format", "pt"}}))
            throw std::runtime_error(*error);
        stop_if_told();
        if (auto error = base::write_file_atomically(folder + "/config.json", config(run_model)))
            throw std::runtime_error(*error);
    }

    void stop_if_told() const {
        if (stop_ && stop_()) throw MergeStopped{};
    }

    const std::string& base() const { return base_; }

    MergeResult result;

private:
    void read_base(const WeightsPlace& place) {
        std::map<std::string, std::shared_ptr<const SafetensorsFile>> files;
        std::map<std::string, std::string> file_of;
        for (const auto& path : place.files) {
            const auto& file = files[path] = opened(path);
            for (const auto& stored : file->tensors()) {
                const auto [before, first] = file_of.try_emplace(stored.name, path);
                if (!first)
                    throw InputError(path + ": has the tensor '" + stored.name + "', and so has " +
                                     before->second + "; expected it in one of the files that " + place.file +
                                     " names");
                weights_.push_back({stored.name, view_stored(file, stored)});
            }
        }
        if (const auto found = index_differences(place, files); !found.problems.empty())
            throw InputError(found.problems.front());
    }

    bool is_whole(const std::string& name) const {
        return std::ranges::find(result.whole, name) != result.whole.end();
    }

    NamedTensor* find(const std::string& name) {
        const auto found = std::ranges::find(weights_, name, &NamedTensor::name);
        if (found != weights_.end()) return &*found;
        const auto dot = name.find('.');
        if (dot == std::string::npos) return nullptr;
        const auto inner = std::ranges::find(weights_, name.substr(dot + 1), &NamedTensor::name);
        if (inner == weights_.end()) return nullptr;
        prefix_ = name.substr(0, dot + 1);
        return &*inner;
    }

    static std::string name_of(const StoredTensor& stored) {
        return stored.name.substr(adapter_prefix.size());
    }

    static bool is_of_product(const std::string& name) {
        return std::ranges::any_of(
            products, [&](const Ends& ends) { return name.ends_with(ends.a) || name.ends_with(ends.b); });
    }

    const StoredTensor* stored(const std::string& name) const {
        return file_->find(std::string(adapter_prefix) + name);
    }

    void take(const StoredTensor& tensor) {
        const auto name = name_of(tensor);
        for (const auto& ends : products) {
            if (name.ends_with(ends.a))
                return add_product(name.substr(0, name.size() - ends.a.size()), ends, tensor);
            if (!name.ends_with(ends.b)) continue;
            const auto other = name.substr(0, name.size() - ends.b.size()) + std::string(ends.a);
            if (stored(other) == nullptr)
                throw InputError(path_ + ": error: has " + name + " without " + other);
            return;
        }
        if (has_part(name, ".lora_") || has_part(name, ".token_adapter."))
            throw InputError(path_ + ": error: tensor '" + tensor.name +
                             "': expected lora_A and lora_B of linear layers or embeddings, and tensors that "
                             "were trained whole");
        if (has_part(name, below) || has_part(name, before)) return;
        const auto plain = without_part(name, saved);
        if (plain == name || stored(plain) == nullptr) take_whole(plain, view_stored(file_, tensor));
    }

    void add_product(const std::string& module, const Ends& ends, const StoredTensor& stored_a) {
        const auto* const stored_b = stored(module + std::string(ends.b));
        if (stored_b == nullptr)
            throw InputError(path_ + ": error: has " + module + std::string(ends.a) + " without " + module +
                             std::string(ends.b));
        auto* const weight = find(module + ".weight");
        if (weight == nullptr)
            throw InputError(path_ + ": error: " + base_ + " has no tensor '" + module +
                             ".weight', which the adapter changes: it is an adapter of another model");
        const auto a = view_stored(file_, stored_a).to(at::kFloat),
                   b = view_stored(file_, *stored_b).to(at::kFloat);
        const bool fits = a.dim() == 2 && b.dim() == 2 && weight->tensor.dim() == 2 && b.size(1) == a.size(0);
        const bool transposed = adapter_.transposed || ends.embedding;  // a table has a row a token
        const auto rows = transposed ? 1 : 0;
        if (!fits || weight->tensor.size(rows) != b.size(0) || weight->tensor.size(1 - rows) != a.size(1))
            throw InputError(path_ + ": error: an adapter of " + shape_text(b.sizes()) + " and " +
                             shape_text(a.sizes()) + " does not fit '" + module + ".weight' of " + base_ +
                             ", which has shape " + shape_text(weight->tensor.sizes()) +
                             ": it is an adapter of another model");
        auto added = at::matmul(b, a).mul_(adapter_.scale(module, a.size(0)));
        if (transposed) added = added.t();
        weight->tensor = weight->tensor.to(at::kFloat).add(added).to(weight->tensor.scalar_type());
        result.merged.push_back(module + ".weight");
    }

    void take_whole(const std::string& name, const at::Tensor& value) {
        if (auto* const weight = find(name))
            set(*weight, value);
        else
            weights_.push_back({name, value});
        result.whole.push_back(name);
    }

    void set(NamedTensor& weight, const at::Tensor& value) {
        const auto& old = weight.tensor;
        if (old.dim() == 2 && value.dim() == 2 && old.size(1) == value.size(1) &&
            old.size(0) != value.size(0))
            rows_[old.size(0)] = value.size(0);
        weight.tensor = value;
    }

    static bool same_values(const at::Tensor& a, const at::Tensor& b) {
        if (a.sizes() != b.sizes()) return false;
        return a.scalar_type() == b.scalar_type() ? a.equal(b) : a.to(at::kFloat).equal(b.to(at::kFloat));
    }

    // Whether the adapter leaves an output projection that is not the table of tokens, whatever the base has.
    bool has_head_apart() const {
        constexpr std::array<std::string_view, 4> heads{"lm_head.weight", "lm_head.decoder.weight",
                                                        "cls.predictions.decoder.weight",
                                                        "vocab_projector.weight"};
        constexpr std::array<std::string_view, 4> tables{"embed_tokens.weight", "wte.weight", "shared.weight",
                                                         "word_embeddings.weight"};
        const auto has = [](const std::vector<std::string>& names, const std::string& name) {
            return std::ranges::find(names, name) != names.end();
        };
        for (const auto& head : weights_) {
            if (std::ranges::find(heads, head.name) == heads.end()) continue;
            if (!has(result.whole, head.name) && !has(result.merged, head.name)) continue;
            bool some = false, same = false;
            for (const auto& table : weights_) {
                if (std::ranges::none_of(tables, [&](auto end) { return table.name.ends_with(end); }))
                    continue;
                some = true;
                same = same || same_values(head.tensor, table.tensor);
            }
            if (some && !same) return true;
        }
        return false;
    }

    // A T5 scales what goes to a tied output projection and nothing else, and both hang on the same key.
    void refuse_scaled_head(const Json& of_base) const {
        const auto is_false = [&](const char* key) { return base::member(of_base, key) == false; };
        if (base::member(of_base, "model_type") != "t5" || is_false("tie_word_embeddings") ||
            is_false("scale_decoder_outputs"))
            return;
        throw InputError(
            path_ + ": error: has an output projection of its own, lm_head.weight, and that of " + base_ +
            " is tied to its table of tokens and scaled, which no config.json says of both; "
            "expected an adapter without it, or a base whose tie_word_embeddings is false");
    }

    static Json config_in(const std::string& folder) {
        const auto file = folder + "/config.json";
        const auto text = base::read_text(file);
        if (!text) throw InputError(file + ": error: there is no such file; expected that of the model");
        return base::parse_object(*text, file);
    }

    // With the size of the vocabulary, the class and the labels of what was trained whole, and without the
    // tie of a head that is no longer the table of tokens.
    std::string config(const std::string& run_model) const {
        auto json = config_in(base_);
        if (head_is_apart_) json["tie_word_embeddings"] = false;  // else what reads it leaves the head out
        if (const auto tokens = base::integer_of(base::member(json, "vocab_size")))
            if (const auto now = rows_.find(*tokens); now != rows_.end()) json["vocab_size"] = now->second;
        static const std::map<std::string, const char*> classes{{"SEQ_CLS", "ForSequenceClassification"},
                                                                {"TOKEN_CLS", "ForTokenClassification"}};
        const auto found = classes.find(adapter_.task);
        if (found == classes.end()) return json.dump(2) + "\n";
        auto& architectures = json["architectures"];
        if (architectures.is_array() && !architectures.empty() && architectures[0].is_string()) {
            const auto name = architectures[0].get<std::string>();
            const auto end = std::min(name.rfind("Model"), name.find("For"));
            if (end != std::string::npos) architectures = Json::array({name.substr(0, end) + found->second});
        }
        if (run_model.empty())
            name_labels(json);
        else
            take_labels(json, config_in(run_model));
        return json.dump(2) + "\n";
    }

    // What the outputs mean, as the run says.
    static void take_labels(Json& json, const Json& of_run) {
        for (const char* const key : {"problem_type", "id2label", "label2id"}) {
            const auto& value = base::member(of_run, key);
            if (value.is_null())
                json.erase(key);
            else
                json[key] = value;
        }
    }

    void name_labels(Json& json) const {
        const auto count = outputs();
        const auto& known = base::member(json, "id2label");
        if (count == 0 || (known.is_object() && static_cast<std::int64_t>(known.size()) == count)) return;
        json["id2label"] = json["label2id"] = Json::object();
        for (std::int64_t i = 0; i < count; ++i) {
            const auto label = "LABEL_" + std::to_string(i);
            json["id2label"][std::to_string(i)] = label;
            json["label2id"][label] = i;
        }
    }

    // Rows of the classifier that was trained whole, of a name of transformers', else of the last matrix that
    // was and is no table of tokens; 0: none was, or the base has a classifier of its own.
    std::int64_t outputs() const {
        std::int64_t last = 0;
        for (const auto& weight : weights_) {
            if (weight.tensor.dim() != 2) continue;
            constexpr std::array<std::string_view, 3> classifiers{
                "classifier.weight", "classifier.out_proj.weight", "score.weight"};
            const auto rows = is_whole(weight.name) ? weight.tensor.size(0) : 0;
            if (std::ranges::find(classifiers, weight.name) != classifiers.end()) return rows;
            constexpr std::array<std::string_view, 3> tables{"embeddings.", "embed_tokens.", "wte."};
            const auto names = [&](std::string_view part) { return has_part(weight.name, part); };
            if (rows > 0 && std::ranges::none_of(tables, names)) last = rows;
        }
        return last;
    }

    std::string path_;
    AdapterConfig adapter_;
    const std::function<bool()>& stop_;
    std::string base_;
    std::shared_ptr<const SafetensorsFile> file_;
    std::vector<NamedTensor> weights_;
    std::map<std::int64_t, std::int64_t> rows_;  // of matrices that were replaced: before, now
    std::string prefix_;
    bool head_is_apart_ = false;
};

// Whether it is there.
bool copy_file(const std::string& from, const std::string& file, const std::string& folder) {
    std::error_code error;
    if (!fs::is_regular_file(from + "/" + file, error)) return false;
    fs::copy_file(from + "/" + file, folder + "/" + file, error);
    if (error) throw std::runtime_error(from + "/" + file + ": cannot be copied: " + error.message());
    return true;
}

// What transformers keep beside a model, of the first folder that has any of the tokenizer's.
void copy_tokenizer(const std::vector<std::string>& from, const std::string& folder) {
    constexpr std::array<const char*, 10> files{"tokenizer.json",
                                                "tokenizer_config.json",
                                                "vocab.txt",
                                                "vocab.json",
                                                "merges.txt",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "spiece.model",
                                                "sentencepiece.bpe.model",
                                                "tokenizer.model"};
    for (const auto& source : from) {
        if (source.empty()) continue;
        bool found = false;
        for (const auto* const file : files) found = copy_file(source, file, folder) || found;
        if (found) return;
    }
}

}  // namespace

MergeResult merge_adapter(const std::string& adapter, const std::string& base, const std::string& folder,
                          const std::string& run_model, const std::function<bool()>& stop) {
    std::error_code error;
    if (fs::exists(folder, error) && !(is_folder(folder) && fs::is_empty(folder, error)))
        throw InputError(folder + ": error: is there already and not empty; expected a new folder");
    Merging merging(adapter, base, stop);
    merging.merge();
    const bool made = !is_folder(folder);
    fs::create_directories(folder, error);
    if (error) throw InputError(folder + ": error: cannot be made: " + error.message());
    try {
        merging.write(folder, run_model);
        copy_tokenizer({adapter, run_model, merging.base()}, folder);
        if (!run_model.empty()) copy_file(run_model, "label_scale.json", folder);
        merging.stop_if_told();
    } catch (...) {
        for (const auto& entry : fs::directory_iterator(folder, error)) fs::remove_all(entry.path(), error);
        if (made) fs::remove(folder, error);
        throw;
    }
    return merging.result;
}

}  // namespace switchyard::model
