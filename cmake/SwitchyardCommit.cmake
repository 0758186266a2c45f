# Writes OUTPUT, a source with the commit of the checkout SOURCE, by GIT; run in every build, and changes the file only where the commit did.
# A folder that is no checkout of its own, as an archive of the sources is none, has no commit.
set(commit "")
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse --show-toplevel
    OUTPUT_VARIABLE top RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(NOT failed AND top STREQUAL source)
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse HEAD
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND "${GIT}" --no-optional-locks -C "${SOURCE}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changed ERROR_QUIET)
    if(commit AND changed)
      string(APPEND commit "-changed")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [=[
#include "core/workbench/cli/program_version.h"

namespace switchyard::cli {

std::string_view program_commit() { return "@commit@"; }

}  // namespace switchyard::cli
]=])
