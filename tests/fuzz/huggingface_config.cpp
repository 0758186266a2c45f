// config.json of a Hugging Face model: what is understood means the same when it is written as config.json
// again, and a configuration that names its folder has that model, or says what of it cannot be.
#include "core/workbench/model/weights/huggingface_config.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace model = switchyard::model;

namespace {

void load_from_folder(std::string_view text, const model::HuggingFaceConfig& read) {
    static const InputFolder folder;
    folder.set("config.json", text);
    switchyard::config::LoadRequest request;
    request.path = "job.toml";
    request.text = "[model]\nfrom = \"" + folder.path() + "\"\n";
    request.read_model_folder = model::read_model_folder;
    const auto loaded = switchyard::config::load(request);
    require(loaded.config.has_value() != !loaded.problems.empty(), "neither a configuration nor a problem");
    if (!loaded.config) return;
    auto theirs = read.model;
    if (theirs.max_positions == 0) theirs.max_positions = loaded.config->model.max_positions;
    require(loaded.config->model == theirs, "the configuration has another model than its folder");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const InputFile file(text_of(data, size));
    const auto read = model::read_huggingface_config(file.path());
    if (!read.error.empty()) {
        require_message(read.error);
        return 0;
    }
    const auto family = model::family_of(read.model);
    model::HuggingFaceFacts facts;
    facts.architecture = "Model";
    facts.labels = read.labels;
    facts.pad_id = family == model::Family::roberta ? 1 : 0;  // by which transformers count positions
    const auto text = model::to_huggingface_config(read.model, family, facts);
    const InputFile written(text);
    const auto again = model::read_huggingface_config(written.path());
    require(again.error.empty(), "what is written of it is refused", again.error);
    const auto differing = model::differences(read.model, again.model);
    require(differing.empty(), "it does not come back", differing.empty() ? "" : differing.front());
    require(again.labels == read.labels, "its labels do not come back");
    load_from_folder(text_of(data, size), read);
    return 0;
}
