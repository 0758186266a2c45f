// A GGUF file, memory-mapped and read without trusting a byte of it.
//
// Format (ggml's GGUF, version 3; version 2 lies the same): "GGUF", u32 version, u64 number of
// tensors, u64 number of metadata; each of these a key, a type and a value; of each tensor its name, sizes
// (the innermost first), type and offset; then, each at a multiple of general.alignment (32), the data.
// What is checked, with arithmetic that cannot wrap: that counts, texts and lists fit into the rest of the
// file, types, keys and names that stand there twice, sizes against blocks, offsets against alignment and
// file, that tensors do not overlap and that nothing lies between them but padding. Values of tensors are not
// looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/base/mapped_file.h"
#include "core/workbench/gguf/tensor_type.h"
#include "core/workbench/gguf/value.h"

namespace switchyard::gguf {

struct Tensor {
    std::string name;
    const TensorType* type = nullptr;
    std::vector<std::int64_t> shape;  // outermost first, as LibTorch has it
    const std::byte* data = nullptr;  // into the mapping
    std::uint64_t bytes = 0;

    std::int64_t elements() const;
};

// The first bytes say that it is one, whatever it is called.
bool is_gguf_file(const std::string& path);

class File {
public:
    struct Opened {
        std::shared_ptr<const File> file;
        std::string error;  // names the file, what was expected and what came; set if file is nullptr
    };
    static Opened open(const std::string& path);

    const std::string& path() const { return path_; }
    std::uint32_t version() const { return version_; }
    using Metadata = std::map<std::string, Value, std::less<>>;
    const Metadata& metadata() const { return metadata_; }
    // In the order of their data.
    const std::vector<Tensor>& tensors() const { return tensors_; }
    const Tensor* find(std::string_view name) const;

private:
    friend class FileReader;
    File() = default;

    std::string path_;
    std::shared_ptr<const base::MappedFile> mapping_;
    std::uint32_t version_ = 0;
    Metadata metadata_;
    std::vector<Tensor> tensors_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace switchyard::gguf
