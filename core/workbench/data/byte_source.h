// A file as a stream of bytes, whatever it is packed in: plain, gzip, bzip2 or zstd, told by its first
// bytes and not by its name.
#pragma once

#include <istream>
#include <memory>
#include <string>

namespace switchyard::data {

struct ByteSource {
    // Its buffer throws on reading: std::ios_base::failure for damaged packed data and for what the system
    // cannot read, InputError for data that unpack to far more than any text does (limits::unpacked_ratio).
    std::unique_ptr<std::istream> stream;
    std::string error;  // set if stream is nullptr
};

// What such a failure means: "cannot be read: Input/output error".
std::string read_failure(const std::ios_base::failure& failure);

ByteSource open_bytes(const std::string& path);

}  // namespace switchyard::data
