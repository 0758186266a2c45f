// What a file holds, as a short text: the key under which things are remembered about it.
#pragma once

#include <string>

namespace switchyard::loader {

// XXH3, 128 bits, hexadecimal; empty if the file cannot be read.
std::string content_hash(const std::string& path);
std::string text_hash(const std::string& text);

// The ELF build id of a library; "xxh3:" and the hash of its content where it has none; empty if it cannot be
// read.
std::string library_id(const std::string& path);

}  // namespace switchyard::loader
