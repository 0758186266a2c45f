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
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checksums.h"

namespace switchyard::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int format_version = 2;
constexpr const char* generator_name = "random.generator";
constexpr const char* precision_prefix = "precision.";
constexpr const char* master_prefix = "master.";

std::vector<std::string> files_of(bool averaged) {
    std::vector<std::string> files{weights_file, "optimizer.safetensors", "state.json"};
    if (averaged) files.emplace_back(average_file);
    return files;
}

json to_json(const TrainingState& state) {
    const auto& p = state.progression;
    json object{{"version", format_version},
                {"step", p.step},
                {"samples", p.samples},
                {"tokens", p.tokens},
                {"skipped_steps", p.skipped_steps},
                {"nonfinite_steps", p.nonfinite_steps},
                {"rewinds", p.rewinds},
                {"loader", {{"epoch", p.loader.epoch}, {"batch", p.loader.batch}}},
                {"optimizer", {{"algorithm", state.optimizer.algorithm}, {"step", state.optimizer.step}}},
                {"plan", state.plan}};
    // Tensor names are "0", "1", ... : a parameter's name and a state's key could not be told apart in one
    // string.
    auto& entries = object["optimizer"]["entries"] = json::array();
    for (const auto& entry : state.optimizer.entries) entries.push_back({entry.parameter, entry.key});
    if (!state.facts.empty()) object["facts"] = json(base::parse_json(state.facts).value);
    return object;
}

base::FileError write_files(const std::string& aside, const TrainingState& state,
                            const model::Parameters& parameters) {
    std::vector<model::NamedTensor> weights;
    for (const auto& parameter : parameters.all()) weights.push_back({parameter.name, parameter.value});
    if (auto error = model::write_safetensors(aside + "/" + weights_file, weights, {})) return error;
    if (!state.average.empty()) {
        for (auto& [name, value] : weights)
            if (const auto found = state.average.find(name); found != state.average.end())
                value = found->second;
        if (auto error = model::write_safetensors(aside + "/" + average_file, weights, {})) return error;
    }

    std::vector<model::NamedTensor> tensors;
    for (std::size_t i = 0; i < state.optimizer.entries.size(); ++i)
        tensors.push_back({std::to_string(i), state.optimizer.entries[i].value});
    for (const auto& entry : state.precision.entries)
        tensors.push_back({precision_prefix + entry.key, entry.value});
    for (const auto& [name, value] : state.masters) tensors.push_back({master_prefix + name, value});
    if (state.progression.generator.defined())
        tensors.push_back({generator_name, state.progression.generator});
    if (auto error = model::write_safetensors(aside + "/optimizer.safetensors", tensors, {})) return error;
    if (auto error = base::write_file_atomically(aside + "/state.json", to_json(state).dump(1) + "\n"))
        return error;
    return write_checksums(aside, files_of(!state.average.empty()));
}

// Whether it is the checkpoint of that state, which is of the same step: only a run that has gone back to it
// has its data go on elsewhere.
bool is_of(const std::string& checkpoint, const Progression& now) {
    try {
        const auto text = base::read_text(checkpoint + "/state.json");
        if (!text) return false;
        const auto state = base::parse_object(*text, checkpoint + "/state.json");
        const auto& loader = base::needed(state, "loader");
        return base::needed_integer(loader, "epoch") == now.loader.epoch &&
               base::needed_integer(loader, "batch") == now.loader.batch &&
               base::integer_of(base::member(state, "rewinds")).value_or(0) == now.rewinds;
    } catch (const base::InputError&) {
        return false;
    }
}

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
        : path_(std::move(path)), plan_(plan), parameters_(parameters) {}

    LoadedCheckpoint read() {
        TrainingState state;
        std::error_code ignored;
        const bool averaged = fs::exists(path_ + "/" + average_file, ignored);
        if (const auto damage = checksum_fault(path_, files_of(averaged)); !damage.empty())
            return {std::nullopt, path_ + ": " + damage + way_on(path_)};
        std::string error = read_state(state);
        if (error.empty()) error = read_optimizer(state);
        if (error.empty() && averaged) error = read_average(state);
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

    std::string read_state(TrainingState& state) {
        try {
            const auto text = base::read_text(path_ + "/state.json");
            if (!text) return "has no state.json";
            const auto parsed = base::parse_json(*text);
            if (!parsed.fault.empty()) throw base::InputError(parsed.fault);
            if (const auto version = base::needed_integer(parsed.value, "version");
                version != format_version) {
                return "state.json has version " + std::to_string(version) + ", this program reads " +
                       std::to_string(format_version);
            }
            read_counts(parsed.value, state);
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
        const auto opened = model::SafetensorsFile::open(path_ + "/optimizer.safetensors");
        if (!opened.file) return opened.error;
        for (std::size_t i = 0; i < state.optimizer.entries.size(); ++i) {
            const auto* stored = opened.file->find(std::to_string(i));
            if (stored == nullptr) return "optimizer.safetensors has no tensor " + std::to_string(i);
            state.optimizer.entries[i].value = model::view_stored(opened.file, *stored).clone();
        }
        for (const auto& stored : opened.file->tensors()) {
            const auto value = model::view_stored(opened.file, stored).clone();
            if (stored.name == generator_name) state.progression.generator = value;
            if (stored.name.starts_with(precision_prefix) && state.other_policy.empty()) {
                state.precision.entries.push_back({stored.name.substr(std::strlen(precision_prefix)), value});
            }
            if (stored.name.starts_with(master_prefix))
                state.masters[stored.name.substr(std::strlen(master_prefix))] = value;
        }
        return "";
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

    // Whether each parameter is in the file, in its shape.
    std::string check_weights(const model::SafetensorsFile& in, const std::string& name) const {
        for (const auto& parameter : parameters_.all()) {
            const auto* stored = in.find(parameter.name);
            if (stored == nullptr) return name + " has no tensor '" + parameter.name + "'";
            if (at::IntArrayRef(stored->shape) != parameter.value.sizes())
                return name + ": tensor '" + parameter.name + "' has shape " +
                       model::shape_text(stored->shape) + ", the model's has " +
                       model::shape_text(parameter.value.sizes());
        }
        return "";
    }

    std::string read_average(TrainingState& state) const {
        const auto opened = model::SafetensorsFile::open(path_ + "/" + average_file);
        if (!opened.file) return opened.error;
        if (auto fault = check_weights(*opened.file, average_file); !fault.empty()) return fault;
        for (const auto& parameter : parameters_.all())
            state.average[parameter.name] =
                model::view_stored(opened.file, *opened.file->find(parameter.name)).clone();
        return "";
    }

    std::string read_parameters(TrainingState& state) {
        const auto opened = model::SafetensorsFile::open(path_ + "/" + weights_file);
        if (!opened.file) return opened.error;
        if (auto fault = check_weights(*opened.file, weights_file); !fault.empty()) return fault;
        const at::NoGradGuard no_grad;
        for (const auto& parameter : parameters_.all()) {
            const auto stored = model::view_stored(opened.file, *opened.file->find(parameter.name));
            if (state.other_policy.empty())
                parameter.value.copy_(stored);
            else
                convert(parameter, stored, state);
        }
        return "";
    }

    std::string path_;
    const std::string& plan_;
    model::Parameters& parameters_;
};

}  // namespace

base::FileError save_checkpoint(const std::string& folder, const TrainingState& state,
                                const model::Parameters& parameters, std::int64_t keep) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return "cannot create the folder " + folder + ": " + error.message();
    remove_leftovers(folder);
    const auto name = checkpoint_name(state.progression.step);
    if (is_of(folder + "/" + name, state.progression)) return std::nullopt;
    const auto aside = folder + "/" + checkpoint_aside_prefix + name;
    fs::create_directory(aside, error);
    if (error) return "cannot create the folder " + aside + ": " + error.message();
    auto failed = write_files(aside, state, parameters);
    if (!failed) failed = base::sync_folder(aside);
    if (!failed) failed = place_checkpoint(folder, aside, state.progression.step);
    if (failed) {
        fs::remove_all(aside, error);
        return failed;
    }
    remove_old_checkpoints(folder, keep);
    return std::nullopt;
}

LoadedCheckpoint load_checkpoint(const std::string& path, const std::string& plan,
                                 model::Parameters& parameters) {
    return Reader(path, plan, parameters).read();
}

}  // namespace switchyard::train
