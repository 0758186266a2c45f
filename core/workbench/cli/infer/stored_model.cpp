#include "core/workbench/cli/infer/stored_model.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/command.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/huggingface_keys.h"
#include "core/workbench/model/weights/huggingface_names.h"
#include "core/workbench/model/weights/model_description.h"
#include "core/workbench/model/weights/safetensors_file.h"
#include "core/workbench/model/weights/weights_place.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

// A tensor as its file has it, with the name that Hugging Face's files have for it.
struct Held {
    std::string name, huggingface, type;
    std::uint64_t numbers = 1, bytes = 0;
    bool readable = true;
};

struct Stored {
    std::string format;  // "GGUF, version 3", "safetensors, 2 files"
    std::vector<Held> tensors;
    std::vector<std::string> notes = {};  // on what an index says of the files
};

std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
    std::uint64_t count = 1;
    for (const auto size : shape) count *= static_cast<std::uint64_t>(size);
    return count;
}

Stored open_gguf(const std::string& path) {
    const auto opened = gguf::File::open(path);
    if (!opened.file) throw Failure(opened.error);
    const auto family = model::read_gguf_model(*opened.file).family;
    Stored stored{"GGUF, version " + std::to_string(opened.file->version()), {}};
    for (const auto& tensor : opened.file->tensors())
        stored.tensors.push_back({tensor.name, model::huggingface_name(family, tensor.name),
                                  std::string(tensor.type->name), count_of(tensor.shape), tensor.bytes,
                                  tensor.type->readable});
    return stored;
}

Stored open_stored(const std::string& path) {
    const auto place = model::find_weights(path);
    if (!place.problem.empty()) throw Failure(place.problem);
    if (place.gguf) return open_gguf(place.file);
    Stored stored{"safetensors, " + counted(place.files.size(), "file"), {}};
    std::map<std::string, std::shared_ptr<const model::SafetensorsFile>> files;
    for (const auto& file : place.files) {
        const auto opened = model::SafetensorsFile::open(file);
        if (!opened.file) throw Failure(opened.error);
        files[file] = opened.file;
        for (const auto& tensor : opened.file->tensors())
            stored.tensors.push_back({tensor.name, tensor.name, std::string(tensor.type->name),
                                      count_of(tensor.shape), tensor.bytes, true});
    }
    const auto differences = model::index_differences(place, files);
    stored.notes = differences.problems;
    if (!differences.note.empty()) stored.notes.push_back(differences.note);
    return stored;
}

// Tensors that no parameter of the configured model is made of, and parameters that no tensor makes.
struct Matching {
    std::vector<std::string> unused, missing;
};

Matching match(const Stored& stored, const config::Config& config) {
    std::vector<std::string> names;
    for (const auto& [name, sizes] : model::describe_names(config).parameters) names.push_back(name);
    const auto family = model::family_of(config);
    const auto known = model::their_tensors(family, names);
    std::set<std::string> there;
    Matching result;
    for (const auto& tensor : stored.tensors) {
        const auto name = model::modern_name(family, tensor.huggingface, known);
        there.insert(name);
        const bool used =
            std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
        if (!used && tensor.name != model::rotary_factors_tensor) result.unused.push_back(tensor.name);
    }
    for (const auto& one : known) {
        if (!there.contains(one.name)) result.missing.push_back(one.name);
    }
    return result;
}

class StoredModel {
public:
    StoredModel(std::string path, const JobOptions& options)
        : path_(std::move(path)), stored_(open_stored(path_)), described_(model::describe_weights(path_)) {
        notes_ = described_.notes;
        notes_.insert(notes_.end(), stored_.notes.begin(), stored_.notes.end());
        if (!described_.error.empty()) notes_.push_back(described_.error);
        std::set<std::string> unread;
        for (const auto& tensor : stored_.tensors)
            if (!tensor.readable) unread.insert(tensor.type);
        if (!unread.empty())
            notes_.push_back("tensors of the types " + joined(unread) + " are not read here");
        if (described_.model) look_at_job(options);
        look_at_tokenizer();
    }

    ordered_json json() const {
        ordered_json types = ordered_json::object();
        for (const auto& [type, sum] : by_type())
            types[type] = {{"tensors", sum.tensors}, {"numbers", sum.numbers}, {"bytes", sum.bytes}};
        ordered_json all{
            {"path", path_}, {"format", stored_.format}, {"model", model_keys()}, {"types", types}};
        all["tokenizer"] = tokenizer_;
        all["not_understood"] = notes_;
        return all;
    }

    void print() const {
        std::cout << path_ << ": " << stored_.format << '\n';
        Table keys({"model", ""});
        const auto said = model_keys();  // outlives the loop over its items
        for (const auto& [key, value] : said.items())
            keys.row({key, value.is_string() ? value.get<std::string>() : value.dump()});
        if (described_.model) std::cout << '\n' << keys.render();
        Table types({"type", "tensors", "numbers", "size"});
        Sum all;
        for (const auto& [type, sum] : by_type()) {
            types.row({type, std::to_string(sum.tensors), std::to_string(sum.numbers),
                       base::bytes_text(static_cast<double>(sum.bytes))});
            all.add(sum);
        }
        types.row({"all", std::to_string(all.tensors), std::to_string(all.numbers),
                   base::bytes_text(static_cast<double>(all.bytes))});
        std::cout << '\n' << types.render() << '\n';
        if (tokenizer_.is_object()) {
            std::cout << "tokenizer: " << tokenizer_["tokens"].dump() << " tokens";
            for (const char* special : {"bos", "eos", "pad", "unk"})
                if (tokenizer_[special].get<std::int64_t>() >= 0)
                    std::cout << ", " << special << ' ' << tokenizer_[special].dump();
            std::cout << '\n';
        }
        for (const auto& note : notes_) std::cout << "not understood: " << base::Text(note) << '\n';
    }

private:
    struct Sum {
        std::uint64_t tensors = 0, numbers = 0, bytes = 0;
        void add(const Sum& other) {
            tensors += other.tensors, numbers += other.numbers, bytes += other.bytes;
        }
    };

    std::map<std::string, Sum> by_type() const {
        std::map<std::string, Sum> sums;
        for (const auto& tensor : stored_.tensors) sums[tensor.type].add({1, tensor.numbers, tensor.bytes});
        return sums;
    }

    ordered_json model_keys() const {
        return described_.model ? model::keys_of(*described_.model, model::Family::own).front()
                                : ordered_json();
    }

    void look_at_job(const JobOptions& options) {
        try {
            const auto job = load_job_by_manifests(job_of_folder(path_, options));
            const auto matching = match(stored_, job.config);
            if (!matching.unused.empty())
                notes_.push_back("the model has no place for " + first_of(matching.unused));
            if (!matching.missing.empty())
                notes_.push_back("there is no tensor for " + first_of(matching.missing));
        } catch (const Failure& failure) {
            notes_.emplace_back(failure.what());
        }
    }

    static std::string first_of(const std::vector<std::string>& names) {
        constexpr std::size_t told = 5;
        const std::vector<std::string> first(
            names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(told, names.size())));
        const auto rest = names.size() - first.size();
        return joined(first) + (rest > 0 ? " and " + std::to_string(rest) + " more" : "");
    }

    void look_at_tokenizer() {
        const auto opened = data::open_tokenizer(config::DataConfig{}, path_);
        for (const auto& problem : opened.problems) notes_.push_back(problem);
        if (!opened.tokenizer) return;
        const auto& ids = opened.tokenizer->specials();
        tokenizer_ = {{"tokens", opened.tokenizer->size()},
                      {"bos", ids.bos},
                      {"eos", ids.eos},
                      {"pad", ids.pad},
                      {"unk", ids.unk},
                      {"mask", ids.mask}};
    }

    std::string path_;
    Stored stored_;
    model::ModelDescription described_;
    std::vector<std::string> notes_;
    ordered_json tokenizer_ = nullptr;
};

}  // namespace

int show_stored_model(const std::string& path, const JobOptions& options, const JsonOption& json) {
    const StoredModel model(path, options);
    write_json(json, model.json());
    if (!json.on_stdout()) model.print();
    return Exit::fine;
}

}  // namespace switchyard::cli
