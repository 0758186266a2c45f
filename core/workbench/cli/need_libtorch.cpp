#include "core/workbench/cli/need_libtorch.h"

#include "core/kernel/base/printable.h"
#include "core/kernel/machine/libtorch_place.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {

void need_libtorch() {
    const auto place = machine::find_libtorch(machine::standard_libtorch_search());
    if (!place.problem.empty())
        throw Failure(base::printable_lines(place.problem + "\n" + place.hint), Exit::run_failed);
    machine::lead_to(place);
}

}  // namespace switchyard::cli
