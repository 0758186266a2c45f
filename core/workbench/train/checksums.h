// The checksums of a folder's files: XXH3 of 128 bits, which finds flipped bits and exchanged files but no
// forgery, and costs next to nothing beside the writing. In a file of the format that `xxh128sum --check
// checksums.xxh128` reads: a line "HASH  NAME" each.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"

namespace switchyard::train {

// Writes checksums.xxh128 in `folder` about these files of it.
base::FileError write_checksums(const std::string& folder, const std::vector<std::string>& files);

// The same in two steps: adds the lines about these files, which may be done by whoever wrote them.
base::FileError add_checksums(const std::string& folder, const std::vector<std::string>& files,
                              std::string& lines);
base::FileError write_checksum_lines(const std::string& folder, const std::string& lines);

// Which of these files is not as it was when its checksum was written, in words that begin with its name;
// empty if all are.
std::string checksum_fault(const std::string& folder, const std::vector<std::string>& files);

}  // namespace switchyard::train
