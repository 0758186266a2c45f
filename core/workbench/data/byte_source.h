// A file as a stream of bytes, whatever it is packed in: plain, gzip, bzip2 or zstd, told by its first
// bytes and not by its name.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::data {

struct ByteSource {
    // Its buffer throws on reading: std::ios_base::failure for damaged packed data and for what the system
    // cannot read, InputError for data that unpack to far more than any text does (limits::unpacked_ratio).
    std::unique_ptr<std::istream> stream;
    std::string error;  // set if stream is nullptr
};

// What such a failure means: "cannot be read: Input/output error".
std::string read_failure(const std::ios_base::failure& failure);

enum class Packing { none, gzip, bzip2, zstd };

// By the first bytes; four are enough.
Packing packing_of(std::string_view start);

// What is unpacked is not looked at again: a packed file within a packed file comes out packed.
// `interrupted`: whether to wait no longer for the writer of a FIFO, or for more of what it writes; the rest
// is then as if it were not there. It is looked at several times a second.
ByteSource open_bytes(const std::string& path, const std::function<bool()>& interrupted = {});
// The standard input, which is read from where it stands, and packed or not likewise. `name`: what messages
// call it.
ByteSource standard_input_bytes(const std::string& name, const std::function<bool()>& interrupted = {});

}  // namespace switchyard::data
