// adapter_config.json: what is read has ranks and scales that can be computed with, and comes back when
// written; or it says why not.
#include <cmath>

#include "core/kernel/base/input_error.h"
#include "core/workbench/model/weights/adapter_config.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace model = switchyard::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const InputFolder folder;
    folder.set(model::adapter_config_file, text_of(data, size));
    model::AdapterConfig read;
    try {
        read = model::read_adapter_config(folder.path());
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
        return 0;
    }
    require(read.rank >= 1 && read.alpha > 0.0 && std::isfinite(read.scale("", read.rank)),
            "a scale that is no number");
    for (const auto& [module, rank] : read.ranks) require(rank >= 1, "a rank below 1", module);
    for (const auto& [module, alpha] : read.alphas)
        require(std::isfinite(read.scale(module, read.rank)), "a module's scale is no number", module);
    folder.set(model::adapter_config_file, model::to_adapter_config(read));
    require(model::read_adapter_config(folder.path()) == read, "it does not come back when written");
    return 0;
}
