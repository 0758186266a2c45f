#include "core/workbench/cli/program_version.h"

namespace switchyard::cli {

std::string_view program_version() { return SWITCHYARD_VERSION; }

std::string version_text() {
    std::string text(program_version());
    if (!program_commit().empty()) text += " (commit " + std::string(program_commit()) + ")";
    return text;
}

}  // namespace switchyard::cli
