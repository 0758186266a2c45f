// The description of a machine, `--host FILE`.
#include "core/kernel/machine/host_info.h"

#include "fuzz.h"

using namespace switchyard::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const InputFile file(text_of(data, size));
    const auto read = switchyard::machine::describe(file.path());
    require(read.host.has_value() == read.error.empty(), "neither a host nor an error");
    if (!read.host) require_message(read.error);
    require(!read.host || read.host->described, "a described host passes for this one");
    return 0;
}
