// config.json of a Hugging Face model: what is understood is a model that our own configuration would accept,
// and means the same when it is written as config.json again.
#include "core/workbench/model/weights/huggingface_config.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace model = switchyard::model;

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
    const auto text = model::to_huggingface_config(read.model, family, facts);
    const InputFile written(text);
    const auto again = model::read_huggingface_config(written.path());
    require(again.error.empty(), "what is written of it is refused", again.error);
    const auto differing = model::differences(read.model, again.model);
    require(differing.empty(), "it does not come back", differing.empty() ? "" : differing.front());
    require(again.labels == read.labels, "its labels do not come back");
    return 0;
}
