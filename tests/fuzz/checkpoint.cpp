// A checkpoint's folder: state.json, checksums.xxh128 (empty: they are made to fit) and optimizer.safetensors
// (empty: a good one), separated by 0x1c; the first is read as best.json too. It is loaded, or refused and
// then no parameter has changed; what is loaded is saved and loaded to the same.
#include <filesystem>
#include <string>
#include <string_view>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checksums.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace fs = std::filesystem;
namespace model = switchyard::model;
namespace train = switchyard::train;

const std::string plan = "model tiny\nattention torch\nprecision of all: torch/fp32\n";
const std::vector<std::string> files{"model.safetensors", "optimizer.safetensors", "state.json"};

model::Parameters parameters_of(double value) {
    model::Parameters parameters;
    parameters.add("w", at::full({2, 2}, value));
    parameters.add("b", at::full({2}, value));
    return parameters;
}

train::TrainingState good_state() {
    train::TrainingState state;
    state.progression.step = 3;
    state.progression.samples = 24;
    state.progression.tokens = 100;
    state.optimizer.algorithm = "adamw";
    state.optimizer.step = 3;
    for (const char* key : {"exp_avg", "exp_avg_sq"})
        state.optimizer.entries.push_back({"w", key, at::full({2, 2}, 0.5)});
    state.masters["w"] = at::full({2, 2}, 0.25);
    state.plan = plan;
    return state;
}

// One good checkpoint, made once; its folder.
const std::string& checkpoint() {
    static const InputFolder folder;
    static const std::string path = [] {
        const auto error = train::save_checkpoint(folder.path(), good_state(), parameters_of(1.0), 1);
        require(!error, "a good checkpoint cannot be saved", error.value_or(""));
        return train::newest_checkpoint(folder.path()).value_or("");
    }();
    return path;
}

void save_and_load_again(const train::TrainingState& state, const model::Parameters& parameters) {
    static const InputFolder folder;
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry.path());
    const auto error = train::save_checkpoint(folder.path(), state, parameters, 1);
    require(!error, "what was loaded cannot be saved", error.value_or(""));
    auto again = parameters_of(0.0);
    const auto loaded =
        train::load_checkpoint(train::newest_checkpoint(folder.path()).value_or(""), plan, again);
    require(loaded.state.has_value(), "what was saved is refused", loaded.error);
    const auto &a = state.progression, &b = loaded.state->progression;
    require(a.step == b.step && a.samples == b.samples && a.tokens == b.tokens &&
                a.skipped_steps == b.skipped_steps && a.nonfinite_steps == b.nonfinite_steps &&
                a.rewinds == b.rewinds && a.loader.epoch == b.loader.epoch &&
                a.loader.batch == b.loader.batch,
            "counts do not come back");
    require(loaded.state->optimizer.entries.size() == state.optimizer.entries.size(),
            "the optimizer's state does not come back");
    require(at::equal(again.all()[0].value, parameters.all()[0].value), "parameters do not come back");
}

// The same text as the file that names the best checkpoint.
void check_best(std::string_view text) {
    static const InputFolder folder;
    write_file(folder.path() + "/best.json", text);
    try {
        const auto best = train::read_best(folder.path());
        require(best.has_value(), "a file that is there names no best checkpoint");
        require(!train::mark_best(folder.path(), *best, 1), "the best checkpoint cannot be marked");
        require(train::read_best(folder.path()) == best, "the best checkpoint does not come back");
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of(text_of(data, size), 3);
    check_best(parts[0]);
    const auto& folder = checkpoint();
    static const std::string good_optimizer =
        switchyard::base::text_if_readable(folder + "/optimizer.safetensors");
    write_file(folder + "/state.json", parts[0]);
    write_file(folder + "/optimizer.safetensors", parts[2].empty() ? good_optimizer : parts[2]);
    const auto error = train::write_checksums(folder, files);
    require(!error, "no checksums can be written", error.value_or(""));
    if (!parts[1].empty()) write_file(folder + "/checksums.xxh128", parts[1]);

    auto parameters = parameters_of(7.0);
    const auto loaded = train::load_checkpoint(folder, plan, parameters);
    require(loaded.state.has_value() == loaded.error.empty(), "neither a state nor an error");
    if (loaded.state) {
        const auto& p = loaded.state->progression;
        require(p.step >= 0 && p.samples >= 0 && p.tokens >= 0, "a count is negative");
        save_and_load_again(*loaded.state, parameters);
        return 0;
    }
    require_message(loaded.error);
    for (const auto& parameter : parameters.all())
        require(at::equal(parameter.value, at::full(parameter.value.sizes(), 7.0)),
                "a refused checkpoint changes a parameter", parameter.name);
    return 0;
}
