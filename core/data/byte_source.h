// A file as a stream of bytes, whatever it is packed in: plain, gzip or bzip2, told by its first bytes and not by its name.
#pragma once

#include <istream>
#include <memory>
#include <string>

namespace switchyard::data {

struct ByteSource {
    std::unique_ptr<std::istream> stream;  // throws on reading damaged packed data (std::ios_base::failure)
    std::string error;                     // set if stream is nullptr
};

ByteSource open_bytes(const std::string& path);

}  // namespace switchyard::data
