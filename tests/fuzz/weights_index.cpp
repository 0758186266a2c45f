// The index of weights in several files: each tensor is in a file beside the index that is there, and nowhere
// else; or it says why not.
#include <filesystem>
#include <set>

#include "core/workbench/model/weights/weights_place.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace model = switchyard::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const InputFolder folder;
    folder.set("model.safetensors.index.json", text_of(data, size));
    folder.set("a.safetensors", "a");
    folder.set("b.safetensors", "b");
    const auto place = model::find_weights(folder.path());
    if (!place.problem.empty()) {
        require_message(place.problem);
        require(place.files.empty() && place.file_of.empty(), "weights in spite of a problem");
        return 0;
    }
    const std::filesystem::path here(folder.path());
    std::set<std::string> named;
    for (const auto& [tensor, file] : place.file_of) {
        named.insert(file);
        require(std::filesystem::path(file).parent_path() == here, "a file lies elsewhere", file);
        require(std::filesystem::exists(file), "a file is not there", file);
    }
    require(!named.empty(), "neither a file nor a problem");
    require(std::set<std::string>(place.files.begin(), place.files.end()) == named, "other files are named");
    return 0;
}
