#include "core/workbench/model/weights/adapter_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/name_pattern.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/their_form.h"

namespace switchyard::model {
namespace {

constexpr const char* prefix = "base_model.model.";

// "encoder.0.attention.q" of "encoder.0.attention.q.weight"; the module of a tensor, likewise.
std::string layer_of(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.')); }

std::vector<std::string> names_without_adapters(const Parameters& parameters) {
    std::vector<std::string> names;
    for (const auto& parameter : parameters.all())
        if (!is_low_rank(parameter.name)) names.push_back(parameter.name);
    return names;
}

// One of their linear layers, and those of ours in it that have adapters.
struct Module {
    std::string name;
    const TheirTensor* theirs = nullptr;
    std::vector<std::string> ours;  // layers, each once
};

std::vector<Module> modules_of(const std::vector<TheirTensor>& tensors, const Parameters& parameters) {
    std::vector<Module> modules;
    for (const auto& theirs : tensors) {
        Module module{layer_of(theirs.name), &theirs, {}};
        if (!theirs.name.ends_with(".weight")) continue;
        for (const auto& part : theirs.parts) {
            const auto layer = layer_of(part.ours);
            if (parameters.find(low_rank_a(layer)) == nullptr) continue;
            if (std::ranges::find(module.ours, layer) == module.ours.end()) module.ours.push_back(layer);
        }
        if (!module.ours.empty()) modules.push_back(std::move(module));
    }
    return modules;
}

at::Tensor value_of(const Parameters& parameters, const std::string& name) {
    return parameters.find(name)->value.detach();
}

at::Tensor their_a(const Module& module, const Parameters& parameters) {
    std::vector<at::Tensor> rows;
    for (const auto& layer : module.ours) rows.push_back(value_of(parameters, low_rank_a(layer)));
    return rows.size() == 1 ? rows.front() : at::cat(rows);
}

// Zero where the rows of a layer meet the ranks of another one, and in the rows of one without an adapter.
at::Tensor their_b(const Module& module, const Parameters& parameters, std::int64_t rank) {
    std::vector<at::Tensor> rows;
    const auto width = rank * static_cast<std::int64_t>(module.ours.size());
    for (const auto& part : module.theirs->parts) {
        const auto layer = layer_of(part.ours);
        const auto weight = rows_of(part, value_of(parameters, part.ours));
        auto block = at::zeros({weight.size(0), width}, weight.options());
        if (const auto at = std::ranges::find(module.ours, layer); at != module.ours.end())
            block.narrow(1, (at - module.ours.begin()) * rank, rank)
                .copy_(rows_of(part, value_of(parameters, low_rank_b(layer))));
        rows.push_back(block);
    }
    return rows.size() == 1 ? rows.front() : at::cat(rows);
}

class Adapter {
public:
    Adapter(const std::string& folder, const config::Config& config, const Parameters& parameters)
        : config_(config),
          parameters_(parameters),
          path_(folder + "/" + adapter_weights_file),
          adapter_(read_adapter_config(folder)) {
        auto opened = SafetensorsFile::open(path_);
        if (!opened.file) throw base::InputError(opened.error);
        file_ = std::move(opened.file);
    }

    std::vector<std::string> load() {
        const auto names = names_without_adapters(parameters_);
        const auto tensors = their_tensors(family(names), names);
        for (const auto& module : modules_of(tensors, parameters_)) take(module);
        for (const auto& theirs : tensors) take_whole(theirs);
        for (const auto& stored : file_->tensors()) {
            if (!taken_.contains(stored.name))
                problem("has '" + stored.name +
                        "', which is of no target of lora.targets and no parameter of "
                        "lora.trained");
        }
        if (problems_.empty()) {
            const at::NoGradGuard no_grad;
            for (const auto& [target, value] : values_) target.copy_(value);
            for (const auto& [theirs, value] : whole_) set_from(*theirs, value, parameters_);
        }
        return std::move(problems_);
    }

private:
    // Whose names most of the tensors have: an adapter may be of a model whose task we call another.
    Family family(const std::vector<std::string>& names) const {
        const auto count = [&](Family of) {
            std::set<std::string> known;
            for (const auto& theirs : their_tensors(of, names)) {
                known.insert(prefix + layer_of(theirs.name) + ".lora_A.weight");
                known.insert(prefix + theirs.name);
            }
            return std::ranges::count_if(file_->tensors(),
                                         [&](const auto& stored) { return known.contains(stored.name); });
        };
        auto best = std::pair(family_of(config_), count(family_of(config_)));
        for (const auto of : {Family::bert, Family::roberta, Family::distilbert, Family::gpt2, Family::llama,
                              Family::t5, Family::t5_gated, Family::own}) {
            if (const auto found = count(of); found > best.second) best = {of, found};
        }
        return best.first;
    }

    void problem(const std::string& text) { problems_.push_back(path_ + ": error: " + text); }

    // Undefined, with a problem, if it is not there or of another shape.
    at::Tensor tensor(const std::string& name, at::IntArrayRef shape, bool needed) {
        const auto* const stored = file_->find(name);
        if (stored == nullptr) {
            if (needed) problem("has no tensor '" + name + "'; expected one of shape " + shape_text(shape));
            return {};
        }
        taken_.insert(name);
        const auto value = view_stored(file_, *stored);
        if (value.sizes() != shape || !value.is_floating_point()) {
            problem("tensor '" + name + "' has shape " + shape_text(value.sizes()) + " and dtype " +
                    std::string(stored->type->name) + "; expected floating-point numbers of shape " +
                    shape_text(shape) + ", as the configured model and lora.rank have it");
            return {};
        }
        return value;
    }

    void take(const Module& module) {
        const auto rank = config_.lora.rank;
        const auto count = static_cast<std::int64_t>(module.ours.size());
        const auto base = prefix + module.name;
        // Several of ours may have one A, which they share, or an A each, one below the other.
        const auto* const stored = file_->find(base + ".lora_A.weight");
        const bool shared = stored == nullptr || stored->shape.empty() || stored->shape[0] != rank * count;
        const auto width = shared ? rank : rank * count;
        std::int64_t out = 0;
        for (const auto& part : module.theirs->parts)
            out += rows_of(part, value_of(parameters_, part.ours)).size(0);
        const auto in = value_of(parameters_, low_rank_a(module.ours.front())).size(1);
        const auto a = tensor(base + ".lora_A.weight", {width, in}, true);
        const auto b = tensor(base + ".lora_B.weight", {out, width}, true);
        if (!a.defined() || !b.defined()) return;
        const double scale = adapter_.scale(module.name, width), ours = low_rank_scale(config_.lora);
        if (scale != ours)
            return problem("alpha / rank of " + module.name + " is " + std::to_string(scale) + "; expected " +
                           std::to_string(ours) + ", as lora.alpha and lora.rank say");
        std::int64_t row = 0;
        for (const auto& part : module.theirs->parts) {
            const auto layer = layer_of(part.ours);
            const auto rows = rows_of(part, value_of(parameters_, part.ours)).size(0);
            const auto at = std::ranges::find(module.ours, layer) - module.ours.begin();
            const auto block = b.narrow(0, row, rows);
            row += rows;
            if (at == count) {
                if (block.ne(0).any().item<bool>())
                    problem("'" + base + ".lora_B.weight' adds to " + layer +
                            ", which is no target of lora.targets");
                continue;
            }
            const auto first = shared ? 0 : at * rank;
            if (!shared && block.ne(0).sum().item<std::int64_t>() !=
                               block.narrow(1, first, rank).ne(0).sum().item<std::int64_t>())
                problem("'" + base + ".lora_B.weight' adds products of all ranks to " + layer +
                        "; expected lora.rank " + std::to_string(width) + " for it");
            keep_a(layer, a.narrow(0, first, rank), base);
            values_.emplace_back(rows_of(part, value_of(parameters_, low_rank_b(layer))),
                                 block.narrow(1, first, rank));
        }
    }

    // One of ours that is two of theirs has one A only.
    void keep_a(const std::string& layer, const at::Tensor& a, const std::string& base) {
        const auto [before, first] = first_a_.try_emplace(layer, a);
        if (first)
            values_.emplace_back(value_of(parameters_, low_rank_a(layer)), a);
        else if (!before->second.equal(a))
            problem("'" + base + ".lora_A.weight' is another one than that of the other half of " + layer +
                    "; expected the same for both, since they are one linear layer here");
    }

    void take_whole(const TheirTensor& theirs) {
        for (const auto& part : theirs.parts)
            if (!config::any_matches(config_.lora.trained, part.ours)) return;
        const auto value = tensor(prefix + theirs.name, shape_of(theirs, parameters_), false);
        if (value.defined()) whole_.emplace_back(&theirs, value);
    }

    const config::Config& config_;
    const Parameters& parameters_;
    std::string path_;
    AdapterConfig adapter_;
    std::shared_ptr<const SafetensorsFile> file_;
    std::set<std::string> taken_;
    std::map<std::string, at::Tensor> first_a_;
    std::vector<std::pair<at::Tensor, at::Tensor>> values_;
    std::vector<std::pair<const TheirTensor*, at::Tensor>> whole_;
    std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> load_adapter(const std::string& folder, const config::Config& config,
                                      const Parameters& parameters) {
    return Adapter(folder, config, parameters).load();
}

base::FileError save_adapter(const std::string& folder, const config::Config& config,
                             const Parameters& parameters, const std::vector<std::string>& trained,
                             const std::string& base) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return "cannot create the folder " + folder + ": " + error.message();
    const auto tensors = their_tensors(family_of(config), names_without_adapters(parameters));
    AdapterConfig adapter;
    adapter.rank = config.lora.rank;
    adapter.alpha = config.lora.alpha;
    adapter.base = base;
    adapter.task = task_type_of(config.task.kind);
    std::vector<NamedTensor> stored;
    for (const auto& module : modules_of(tensors, parameters)) {
        stored.push_back({prefix + module.name + ".lora_A.weight", their_a(module, parameters)});
        stored.push_back(
            {prefix + module.name + ".lora_B.weight", their_b(module, parameters, adapter.rank)});
        adapter.targets.push_back(module.name);
        adapter.transposed = adapter.transposed || module.theirs->transposed;
        if (const auto count = static_cast<std::int64_t>(module.ours.size()); count > 1) {
            adapter.ranks[module.name] = adapter.rank * count;
            adapter.alphas.emplace_back(module.name, adapter.alpha * static_cast<double>(count));
        }
    }
    const auto value = [&](const std::string& name) { return value_of(parameters, name); };
    for (const auto& theirs : tensors) {
        const auto is_trained = [&](const auto& part) {
            return std::ranges::find(trained, part.ours) != trained.end();
        };
        if (std::ranges::none_of(theirs.parts, is_trained)) continue;
        stored.push_back({prefix + theirs.name, in_their_form(theirs, value)});
        const auto module = layer_of(theirs.name);
        if (std::ranges::find(adapter.whole, module) == adapter.whole.end()) adapter.whole.push_back(module);
    }
    if (auto failed = write_safetensors(folder + "/" + adapter_weights_file, stored, {{"format", "pt"}}))
        return failed;
    return base::write_file_atomically(folder + "/" + adapter_config_file, to_adapter_config(adapter));
}

}  // namespace switchyard::model
