#include "tensor_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

namespace peer {

Tensors read_tensors(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::uint64_t length = 0;
    file.read(reinterpret_cast<char*>(&length), sizeof length);
    if (!file || length > (std::uint64_t{1} << 30))
        throw std::runtime_error(path + " is not a safetensors file");
    std::string header(length, '\0');
    file.read(header.data(), static_cast<std::streamsize>(length));
    if (!file) throw std::runtime_error(path + " ends in its header");
    const auto data = static_cast<std::streamoff>(sizeof length + length);
    const auto entries = nlohmann::json::parse(header);
    Tensors tensors;
    for (const auto& [name, entry] : entries.items()) {
        if (name == "__metadata__") continue;
        const bool whole = entry.at("dtype") == "I64";
        if (!whole && entry.at("dtype") != "F32")
            throw std::runtime_error(path + ": " + name + " is neither I64 nor F32");
        auto value =
            at::empty(entry.at("shape").get<std::vector<std::int64_t>>(), whole ? at::kLong : at::kFloat);
        file.seekg(data + entry.at("data_offsets").at(0).get<std::streamoff>());
        file.read(static_cast<char*>(value.data_ptr()), static_cast<std::streamsize>(value.nbytes()));
        if (!file) throw std::runtime_error(path + ": " + name + " is cut off");
        tensors.emplace(name, std::move(value));
    }
    return tensors;
}

void write_tensors(const std::string& path, const Tensors& tensors) {
    nlohmann::json header;
    std::vector<at::Tensor> values;
    std::uint64_t end = 0;
    for (const auto& [name, tensor] : tensors) {
        values.push_back(tensor.detach().to(at::kFloat).contiguous());
        const auto begin = end;
        end += values.back().nbytes();
        header[name] = {{"dtype", "F32"}, {"shape", tensor.sizes().vec()}, {"data_offsets", {begin, end}}};
    }
    const auto text = header.dump();
    const std::uint64_t length = text.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length) << text;
    for (const auto& value : values)
        file.write(static_cast<const char*>(value.const_data_ptr()),
                   static_cast<std::streamsize>(value.nbytes()));
    if (!file.flush()) throw std::runtime_error(path + " could not be written: " + std::strerror(errno));
}

}  // namespace peer
