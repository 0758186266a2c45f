// Which Switchyard this program is.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::cli {

// "1.2.3"
std::string_view program_version();

// Of the checkout that it was built from, with "-changed" behind it where files of that differed; "" where it
// was none. The build writes it (cmake/SwitchyardCommit.cmake).
std::string_view program_commit();

// "1.2.3 (commit 0123...)"
std::string version_text();

}  // namespace switchyard::cli
