// The checksums of a folder's files: XXH3 of 128 bits, which finds flipped bits and exchanged files but no
// forgery, and costs next to nothing beside the writing. In a file of the format that `xxh128sum --check
// checksums.xxh128` reads: a line "HASH  NAME" each.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"

namespace switchyard::train {

// Adds the lines about these files of a folder.
base::FileError add_checksums(const std::string& folder, const std::vector<std::string>& files,
                              std::string& lines);

// Writes checksums.xxh128 in `folder`, behind `lines` about others with those about these files.
base::FileError write_checksums(const std::string& folder, const std::vector<std::string>& files,
                                std::string lines = {});

// Which of these files is not as it was when its checksum was written, in words that begin with its name;
// empty if all are.
std::string checksum_fault(const std::string& folder, const std::vector<std::string>& files);

}  // namespace switchyard::train
