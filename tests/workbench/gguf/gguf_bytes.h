// The bytes of a GGUF file, part by part, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <switchyard_test.h>

namespace switchyard::test {

class GgufBytes {
public:
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> sizes;  // innermost first
        std::uint32_t type = 0;
        std::uint64_t offset = 0;
    };

    template <class Number>
    GgufBytes& number(Number value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    GgufBytes& text(const std::string& value) {
        number<std::uint64_t>(value.size());
        bytes_ += value;
        return *this;
    }
    GgufBytes& raw(const std::string& value) {
        bytes_ += value;
        return *this;
    }

    GgufBytes& header(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
        return raw("GGUF").number(version).number(tensors).number(entries);
    }
    GgufBytes& entry(const std::string& key, const std::string& value) {
        return text(key).number<std::uint32_t>(8).text(value);
    }
    GgufBytes& entry(const std::string& key, std::uint32_t value) {
        return text(key).number<std::uint32_t>(4).number(value);
    }
    GgufBytes& tensor(const Tensor& one) {
        text(one.name).number(static_cast<std::uint32_t>(one.sizes.size()));
        for (const auto size : one.sizes) number(size);
        return number(one.type).number(one.offset);
    }
    GgufBytes& padded(std::size_t alignment = 32) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment, '\0');
        return *this;
    }
    GgufBytes& data(std::size_t bytes) {
        padded();
        bytes_.append(bytes, 'x');
        return *this;
    }

    const std::string& bytes() const { return bytes_; }
    std::string write() const {
        const auto path = (temporary_dir("gguf") / "file.gguf").string();
        std::ofstream(path, std::ios::binary) << bytes_;
        return path;
    }

private:
    std::string bytes_;
};

}  // namespace switchyard::test
