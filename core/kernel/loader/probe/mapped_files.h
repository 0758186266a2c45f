// Which files this process runs from, as the dynamic loader itself tells.
#pragma once

#include <map>
#include <string>

namespace switchyard::loader {

// "DEVICE:INODE:SIZE:NANOSECONDS" of a file; empty if it cannot be told.
std::string file_identity(const std::string& path);

using FileIdentities = std::map<std::string, std::string>;  // path -> file_identity()

// Every library that is mapped now (dl_iterate_phdr(3)), under the path by which the loader found it.
FileIdentities mapped_files();

// The path of the file called `name` ("libtorch_cpu.so") among `files`; empty if there is none.
std::string path_of(const std::string& name, const FileIdentities& files);

}  // namespace switchyard::loader
