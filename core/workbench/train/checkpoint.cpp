// How a checkpoint is read.
#include "core/workbench/train/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include <ATen/core/grad_mode.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/train/checkpoint_files.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checkpoint_format.h"
#include "core/workbench/train/checksums.h"

namespace switchyard::train {
namespace {

namespace fs = std::filesystem;

// What to do about a damaged checkpoint.
std::string way_on(const fs::path& checkpoint) {
    const auto all = checkpoints_in(checkpoint.parent_path().string());
    const auto here = all.lower_bound(checkpoint_step(checkpoint).value_or(0));
    if (here == all.begin())
        return "; there is no older checkpoint: start again in another folder, with --run";
    const auto before = fs::path(std::prev(here)->second).filename().string();
    return "; to resume from the checkpoint before it, " + before + ", delete this folder";
}

std::string differing_lines(const std::string& saved, const std::string& now) {
    std::istringstream a(saved), b(now);
    std::string left, right, text;
    while (true) {
        const bool has_left = static_cast<bool>(std::getline(a, left));
        const bool has_right = static_cast<bool>(std::getline(b, right));
        if (!has_left && !has_right) return text;
        if (!has_left) left = "(nothing)";
        if (!has_right) right = "(nothing)";
        if (left != right) text += "\n  saved: " + left + "\n  now:   " + right;
    }
}

constexpr std::string_view precision_line = "precision ", linear_line = "linear.";

// A line for each linear layer, behind the others: which of them are alike, and one line, is a matter of the
// part of the model that a rank has.
std::string one_by_one(const std::string& plan) {
    std::istringstream lines(plan);
    std::string others;
    std::vector<std::string> linear;
    for (std::string line; std::getline(lines, line);) {
        const auto end = std::min(line.find(' '), line.size());
        if (!line.starts_with(linear_line)) {
            others += line + "\n";
            continue;
        }
        for (const auto& slot : resolver::single_slots(line.substr(0, end)))
            linear.push_back(slot + line.substr(end) + "\n");
    }
    std::ranges::sort(linear);
    for (const auto& line : linear) others += line;
    return others;
}

// The plan without the line of its precision policy, and whose that is; and without those of linear layers,
// which multiply the numbers that the policy says.
struct SplitPlan {
    std::string rest, policy, linear;
};

SplitPlan split_plan(const std::string& plan) {
    SplitPlan split;
    std::istringstream lines(plan);
    for (std::string line; std::getline(lines, line);) {
        const auto value = line.rfind(": ");
        if (line.starts_with(precision_line) && value != std::string::npos)
            split.policy = line.substr(value + 2);
        else if (line.starts_with(linear_line))
            split.linear += line + "\n";
        else
            split.rest += line + "\n";
    }
    return split;
}

bool is_low(const at::Tensor& tensor) { return tensor.element_size() < 4; }

class Reader {
public:
    Reader(std::string path, const std::string& plan, model::Parameters& parameters)
        : path_(std::move(path)), plan_(plan), parameters_(parameters), files_(files_of(path_)) {}

    LoadedCheckpoint read() {
        TrainingState state;
        if (const auto damage = checksum_fault(path_, files_.all()); !damage.empty())
            return {std::nullopt, path_ + ": " + damage + way_on(path_)};
        std::string error = read_state(state);
        if (error.empty()) error = read_optimizer(state);
        if (error.empty() && files_.averaged) error = read_average(state);
        if (error.empty()) error = read_parameters(state);
        if (!error.empty()) return {std::nullopt, path_ + ": " + error};
        return {std::move(state), ""};
    }

private:
    static void read_counts(const base::Json& object, TrainingState& state) {
        const auto count = [](const base::Json& in, const char* key) {
            const auto value = base::needed_integer(in, key);
            if (value < 0) throw base::InputError("\"" + std::string(key) + "\" is negative");
            return value;
        };
        const auto count_or_0 = [&](const char* key) {
            return object.contains(key) ? count(object, key) : 0;
        };
        state.plan = base::needed_text(object, "plan");
        auto& p = state.progression;
        p.step = count(object, "step");
        p.samples = count(object, "samples");
        p.tokens = count(object, "tokens");
        p.skipped_steps = count(object, "skipped_steps");
        p.nonfinite_steps = count_or_0("nonfinite_steps");
        p.rewinds = count_or_0("rewinds");
        const auto& loader = base::needed(object, "loader");
        p.loader.epoch = count(loader, "epoch");
        p.loader.batch = count(loader, "batch");
        const auto& optimizer = base::needed(object, "optimizer");
        state.optimizer.algorithm = base::needed_text(optimizer, "algorithm");
        state.optimizer.step = count(optimizer, "step");
        for (const auto& entry : base::needed_list(optimizer, "entries")) {
            const bool pair =
                entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string();
            if (!pair)
                throw base::InputError(
                    "\"entries\" has an item that is not a parameter with the name of a state");
            state.optimizer.entries.push_back({entry[0].get<std::string>(), entry[1].get<std::string>(), {}});
        }
    }

    // How many entries each part has: all of them, of one.
    void read_parts(const base::Json& object, const TrainingState& state) {
        const auto all = state.optimizer.entries.size();
        entries_of_parts_ = {all};
        if (files_.parts == 1) return;
        entries_of_parts_.clear();
        std::size_t sum = 0;
        for (const auto& part : base::needed_list(object, "parts")) {
            const auto count = base::integer_of(part).value_or(-1);
            if (count < 0 || static_cast<std::size_t>(count) > all - sum)
                throw base::InputError("\"parts\" has numbers of entries that are not there");
            entries_of_parts_.push_back(static_cast<std::size_t>(count));
            sum += entries_of_parts_.back();
        }
        if (sum != all) throw base::InputError("\"parts\" has fewer entries than \"entries\"");
    }

    std::string read_state(TrainingState& state) {
        try {
            const auto text = base::read_text(path_ + "/state.json");
            if (!text) return "has no state.json";
            const auto parsed = base::parse_json(*text);
            if (!parsed.fault.empty()) throw base::InputError(parsed.fault);
            const auto version = base::needed_integer(parsed.value, "version");
            if (version != (files_.parts > 1 ? format_of_parts : format_of_one))
                return "state.json has version " + std::to_string(version) + ", this program reads " +
                       std::to_string(format_of_one) + ", and " + std::to_string(format_of_parts) +
                       " of what several ranks wrote";
            read_counts(parsed.value, state);
            read_parts(parsed.value, state);
            if (const auto named = checkpoint_step(path_); named && *named != state.progression.step) {
                return "holds step " + std::to_string(state.progression.step) + ", but its name says step " +
                       std::to_string(*named) + ": call it " + checkpoint_name(state.progression.step) +
                       ", if no other checkpoint has that name";
            }
            if (parsed.value.contains("facts")) state.facts = parsed.value.at("facts").dump();
        } catch (const base::InputError& error) {
            return std::string("state.json is damaged: ") + error.what();
        }
        const auto then = one_by_one(state.plan), here = one_by_one(plan_);
        if (then == here) return "";
        const auto saved = split_plan(then), now = split_plan(here);
        if (saved.rest == now.rest && saved.policy != now.policy && !saved.policy.empty() &&
            !now.policy.empty()) {
            state.other_policy = saved.policy;
            return "";
        }
        return "was saved under another model or plan:" + differing_lines(then, here);
    }

    std::string read_optimizer(TrainingState& state) const {
        std::size_t done = 0;
        for (std::int64_t part = 0; part < files_.parts; ++part) {
            const auto name = part_file(optimizer_stem, part, files_.parts);
            const auto opened = model::SafetensorsFile::open(path_ + "/" + name);
            if (!opened.file) return opened.error;
            const auto count = entries_of_parts_[static_cast<std::size_t>(part)];
            for (std::size_t i = 0; i < count; ++i) {
                const auto* stored = opened.file->find(std::to_string(i));
                if (stored == nullptr) return name + " has no tensor " + std::to_string(i);
                state.optimizer.entries[done++].value = model::view_stored(opened.file, *stored).clone();
            }
            read_others(opened.file, state);
        }
        return "";
    }

    static void read_others(const std::shared_ptr<const model::SafetensorsFile>& file, TrainingState& state) {
        for (const auto& stored : file->tensors()) {
            const auto is = [&](const char* prefix) { return stored.name.starts_with(prefix); };
            const auto value = [&] { return model::view_stored(file, stored).clone(); };
            if (stored.name == generator_name) state.progression.generator = value();
            if (is(precision_prefix) && state.other_policy.empty())
                state.precision.entries.push_back(
                    {stored.name.substr(std::strlen(precision_prefix)), value()});
            if (is(master_prefix)) state.masters[stored.name.substr(std::strlen(master_prefix))] = value();
        }
    }

    // From float32 to the dtype in which the model stores now, with masters where that is a lower one.
    static void convert(const model::ModelParameter& parameter, const at::Tensor& stored,
                        TrainingState& state) {
        const auto found = state.masters.find(parameter.name);
        const auto exact =
            (found == state.masters.end() ? stored : found->second).to(at::kFloat, false, true);
        parameter.value.copy_(exact);
        if (is_low(parameter.value))
            state.masters[parameter.name] = exact;
        else
            state.masters.erase(parameter.name);
    }

    // read(parameter, view of what is stored for it), of each, where all are there in their shapes; else what
    // is not.
    template <class Read>
    std::string read_weights(const char* stem, const Read& read) const {
        std::vector<std::shared_ptr<const model::SafetensorsFile>> files;
        for (std::int64_t part = 0; part < files_.parts; ++part) {
            const auto opened =
                model::SafetensorsFile::open(path_ + "/" + part_file(stem, part, files_.parts));
            if (!opened.file) return opened.error;
            files.push_back(opened.file);
        }
        const auto name = files_.parts > 1 ? index_file(stem) : part_file(stem, 0, 1);
        std::vector<at::Tensor> values;
        for (const auto& parameter : parameters_.all()) {
            const model::StoredTensor* stored = nullptr;
            for (std::size_t i = 0; i < files.size() && stored == nullptr; ++i) {
                stored = files[i]->find(parameter.name);
                if (stored != nullptr) values.push_back(model::view_stored(files[i], *stored));
            }
            if (stored == nullptr) return name + " has no tensor '" + parameter.name + "'";
            if (at::IntArrayRef(stored->shape) != parameter.value.sizes())
                return name + ": tensor '" + parameter.name + "' has shape " +
                       model::shape_text(stored->shape) + ", the model's has " +
                       model::shape_text(parameter.value.sizes());
        }
        for (std::size_t i = 0; i < values.size(); ++i) read(parameters_.all()[i], values[i]);
        return "";
    }

    std::string read_average(TrainingState& state) const {
        return read_weights(average_stem,
                            [&](const model::ModelParameter& parameter, const at::Tensor& stored) {
                                state.average[parameter.name] = stored.clone();
                            });
    }

    std::string read_parameters(TrainingState& state) {
        const at::NoGradGuard no_grad;
        return read_weights(weights_stem,
                            [&](const model::ModelParameter& parameter, const at::Tensor& stored) {
                                if (state.other_policy.empty())
                                    parameter.value.copy_(stored);
                                else
                                    convert(parameter, stored, state);
                            });
    }

    std::string path_;
    const std::string& plan_;
    model::Parameters& parameters_;
    CheckpointFiles files_;
    std::vector<std::size_t> entries_of_parts_;
};

}  // namespace

CheckpointWeights weights_of(const std::string& checkpoint) {
    const auto files = files_of(checkpoint);
    const auto* const stem = files.averaged ? average_stem : weights_stem;
    const auto names = files.of(stem);
    return {checkpoint + "/" + names.back(), checksum_fault(checkpoint, names)};
}

LoadedCheckpoint load_checkpoint(const std::string& path, const std::string& plan,
                                 model::Parameters& parameters) {
    return Reader(path, plan, parameters).read();
}

}  // namespace switchyard::train
