// How a checkpoint is written, by one process or by several ranks (checkpoint.h).
#include <filesystem>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_files.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checkpoint_format.h"
#include "core/workbench/train/checksums.h"

namespace switchyard::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

// What a part says of its files, for whoever makes a checkpoint of all parts.
constexpr const char *told_entries = "entries", *told_weights = "weights", *told_bytes = "bytes",
                     *told_averaged = "averaged", *told_checksums = "checksums";

std::vector<model::NamedTensor> optimizer_tensors(const TrainingState& state) {
    std::vector<model::NamedTensor> tensors;
    for (std::size_t i = 0; i < state.optimizer.entries.size(); ++i)
        tensors.push_back({std::to_string(i), state.optimizer.entries[i].value});
    for (const auto& entry : state.precision.entries)
        tensors.push_back({std::string(precision_prefix) + entry.key, entry.value});
    for (const auto& [name, value] : state.masters)
        tensors.push_back({std::string(master_prefix) + name, value});
    if (state.progression.generator.defined())
        tensors.push_back({generator_name, state.progression.generator});
    return tensors;
}

// `parts`: for each, how many of the entries are its own.
json to_json(const TrainingState& state, const json& entries, const std::vector<std::size_t>& parts) {
    const auto& p = state.progression;
    json object{
        {"version", parts.size() > 1 ? format_of_parts : format_of_one},
        {"step", p.step},
        {"samples", p.samples},
        {"tokens", p.tokens},
        {"skipped_steps", p.skipped_steps},
        {"nonfinite_steps", p.nonfinite_steps},
        {"rewinds", p.rewinds},
        {"loader", {{"epoch", p.loader.epoch}, {"batch", p.loader.batch}}},
        {"optimizer",
         {{"algorithm", state.optimizer.algorithm}, {"step", state.optimizer.step}, {"entries", entries}}},
        {"plan", state.plan}};
    if (parts.size() > 1) object["parts"] = parts;
    if (!state.facts.empty()) object["facts"] = json(base::parse_json(state.facts).value);
    return object;
}

base::FileError write_index(const std::string& aside, const char* stem, const std::vector<json>& parts) {
    std::uint64_t bytes = 0;
    auto map = json::object();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto file =
            part_file(stem, static_cast<std::int64_t>(i), static_cast<std::int64_t>(parts.size()));
        for (const auto& name : parts[i].at(told_weights)) map[name.get<std::string>()] = file;
        bytes += parts[i].at(told_bytes).at(stem).get<std::uint64_t>();
    }
    const json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", std::move(map)}};
    return base::write_file_atomically(aside + "/" + index_file(stem), index.dump(1) + "\n");
}

base::FileError finish_files(const std::string& aside, const TrainingState& state,
                             const std::vector<json>& parts) {
    auto entries = json::array();
    std::vector<std::size_t> counts;
    std::string checksums;
    const bool averaged = parts.front().at(told_averaged).get<bool>();
    for (const auto& part : parts) {
        const auto& own = part.at(told_entries);
        entries.insert(entries.end(), own.begin(), own.end());
        counts.push_back(own.size());
        checksums += part.at(told_checksums).get<std::string>();
    }
    const auto text = to_json(state, entries, counts).dump(1) + "\n";
    if (auto error = base::write_file_atomically(aside + "/state.json", text)) return error;
    std::vector<std::string> files{"state.json"};
    for (const auto* const stem : {weights_stem, average_stem}) {
        if (parts.size() == 1 || (stem == average_stem && !averaged)) continue;
        if (auto error = write_index(aside, stem, parts)) return error;
        files.push_back(index_file(stem));
    }
    if (auto error = write_checksums(aside, files, std::move(checksums))) return error;
    return base::sync_folder(aside);
}

}  // namespace

CheckpointBegin begin_checkpoint(const std::string& folder, const Progression& progression) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return {"", "cannot create the folder " + folder + ": " + error.message()};
    remove_leftovers(folder);
    const auto name = checkpoint_name(progression.step);
    if (is_of(folder + "/" + name, progression)) return {};
    auto aside = folder + "/" + checkpoint_aside_prefix + name;
    fs::create_directory(aside, error);
    if (error) return {"", "cannot create the folder " + aside + ": " + error.message()};
    return {std::move(aside), std::nullopt};
}

WrittenPart write_part(const std::string& aside, const CheckpointPart& part, const TrainingState& state,
                       const model::Parameters& parameters) {
    std::vector<std::string> files;
    auto bytes = json::object();
    const auto write = [&](const char* stem, const std::vector<model::NamedTensor>& tensors) {
        files.push_back(part_file(stem, part.index, part.count));
        std::uint64_t all = 0;
        for (const auto& tensor : tensors) all += tensor.tensor.nbytes();
        bytes[stem] = all;
        return model::write_safetensors(aside + "/" + files.back(), tensors, {});
    };
    std::vector<model::NamedTensor> weights;
    auto names = json::array();
    for (const auto& parameter : parameters.all()) {
        weights.push_back({parameter.name, parameter.value});
        names.push_back(parameter.name);
    }
    if (auto error = write(weights_stem, weights)) return {"", error};
    const bool averaged = state.averages();
    if (averaged) {
        for (auto& [weight, value] : weights)
            if (const auto found = state.average.find(weight); found != state.average.end())
                value = found->second;
        if (auto error = write(average_stem, weights)) return {"", error};
    }
    if (auto error = write(optimizer_stem, optimizer_tensors(state))) return {"", error};
    // Tensor names are "0", "1", ... : a parameter's name and a state's key could not be told apart in one
    // string.
    auto entries = json::array();
    for (const auto& entry : state.optimizer.entries) entries.push_back({entry.parameter, entry.key});
    std::string checksums;
    if (auto error = add_checksums(aside, files, checksums)) return {"", error};
    return {json{{told_entries, entries},
                 {told_weights, names},
                 {told_bytes, bytes},
                 {told_averaged, averaged},
                 {told_checksums, checksums}}
                .dump(),
            std::nullopt};
}

base::FileError finish_checkpoint(const std::string& folder, const std::string& aside,
                                  const TrainingState& state, const std::vector<std::string>& words,
                                  std::int64_t keep) {
    std::vector<json> parts;
    for (const auto& word : words) parts.push_back(json(base::parse_json(word).value));
    auto failed = finish_files(aside, state, parts);
    if (!failed) failed = place_checkpoint(folder, aside, state.progression.step);
    if (failed) {
        give_up_checkpoint(aside);
        return failed;
    }
    remove_old_checkpoints(folder, keep);
    return std::nullopt;
}

void give_up_checkpoint(const std::string& aside) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
}

base::FileError save_checkpoint(const std::string& folder, const TrainingState& state,
                                const model::Parameters& parameters, std::int64_t keep) {
    const auto begun = begin_checkpoint(folder, state.progression);
    if (begun.error || begun.aside.empty()) return begun.error;
    auto written = write_part(begun.aside, {}, state, parameters);
    if (written.error) {
        give_up_checkpoint(begun.aside);
        return written.error;
    }
    return finish_checkpoint(folder, begun.aside, state, {written.word}, keep);
}

}  // namespace switchyard::train
