// A safetensors file, memory-mapped and read without trusting a byte of it.
//
// Format (huggingface/safetensors, README "Format"): u64 little-endian length n; n bytes of JSON {name:
// {dtype, shape, data_offsets: [begin, end]}}, padded with spaces, with an optional "__metadata__" of
// strings; then the data, offsets counted from its start, without overlaps or holes.
// What is checked, with 64-bit arithmetic that cannot wrap: the header's size against the file, the JSON
// (depth, duplicate names, types), known dtypes, bytes == product(shape) * size, and that the tensors cover
// the data exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/base/mapped_file.h"

namespace switchyard::model {

// The dtypes of the format, with its names: F32, BF16, I64, ...
struct SafetensorsType {
    std::string_view name;
    std::uint64_t bytes;
};
const SafetensorsType* find_safetensors_type(std::string_view name);

struct StoredTensor {
    std::string name;
    const SafetensorsType* type = nullptr;
    std::vector<std::int64_t> shape;
    const std::byte* data = nullptr;  // into the mapping; aligned to 1 byte only
    std::uint64_t bytes = 0;
};

class SafetensorsFile {
public:
    struct Opened {
        std::shared_ptr<const SafetensorsFile> file;
        std::string error;  // names the file, what was expected and what came; set if file is nullptr
    };
    static Opened open(const std::string& path);

    const std::string& path() const { return path_; }
    // In the order of their data.
    const std::vector<StoredTensor>& tensors() const { return tensors_; }
    const StoredTensor* find(std::string_view name) const;
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

private:
    SafetensorsFile() = default;
    std::optional<std::string> map_file();
    std::optional<std::string> read_header();
    std::optional<std::string> check_coverage(std::uint64_t data_bytes) const;

    std::string path_;
    std::shared_ptr<const base::MappedFile> file_;
    const std::byte* mapping_ = nullptr;
    std::uint64_t size_ = 0;
    std::vector<StoredTensor> tensors_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::map<std::string, std::string> metadata_;
};

}  // namespace switchyard::model
