#include "core/workbench/model/weights/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/workbench/model/weights/safetensors_file.h"

namespace switchyard::model {
namespace {

void check(const std::vector<TensorToStore>& sorted_by_name) {
    for (std::size_t i = 0; i < sorted_by_name.size(); ++i) {
        const auto& tensor = sorted_by_name[i];
        const auto* type = find_safetensors_type(tensor.type);
        if (type == nullptr)
            throw std::invalid_argument("safetensors: unknown dtype for '" + tensor.name + "'");
        std::uint64_t bytes = type->bytes;
        for (const auto size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
        if (bytes != tensor.bytes)
            throw std::invalid_argument("safetensors: size of '" + tensor.name + "' does not fit its shape");
        if (i > 0 && sorted_by_name[i - 1].name == tensor.name) {
            throw std::invalid_argument("safetensors: '" + tensor.name + "' twice");
        }
    }
}

std::string header_of(const std::vector<TensorToStore>& tensors,
                      const std::map<std::string, std::string>& metadata) {
    // Ordered, so that readers that go by the header's order read forwards.
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::uint64_t offset = 0;
    for (const auto& tensor : tensors) {
        header[tensor.name] = {{"dtype", tensor.type},
                               {"shape", tensor.shape},
                               {"data_offsets", std::array<std::uint64_t, 2>{offset, offset + tensor.bytes}}};
        offset += tensor.bytes;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

}  // namespace

base::FileError write_safetensors(const std::string& path, std::vector<TensorToStore> tensors,
                                  const std::map<std::string, std::string>& metadata) {
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    check(tensors);
    std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
        return find_safetensors_type(a.type)->bytes > find_safetensors_type(b.type)->bytes;
    });

    const std::string header = header_of(tensors, metadata);
    const std::uint64_t header_bytes = header.size();
    base::AtomicFile file(path);
    if (auto error = file.open()) return error;
    if (auto error = file.write(&header_bytes, sizeof header_bytes)) return error;
    if (auto error = file.write(header.data(), header.size())) return error;
    for (const auto& tensor : tensors) {
        if (auto error = file.write(tensor.data, tensor.bytes)) return error;
    }
    return file.commit();
}

}  // namespace switchyard::model
