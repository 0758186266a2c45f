#include "core/workbench/model/weights/tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace switchyard::model {
namespace {

using c10::ScalarType;

constexpr std::array<std::pair<std::string_view, ScalarType>, 15> scalar_types{
    {{"BOOL", ScalarType::Bool},
     {"U8", ScalarType::Byte},
     {"I8", ScalarType::Char},
     {"F8_E5M2", ScalarType::Float8_e5m2},
     {"F8_E4M3", ScalarType::Float8_e4m3fn},
     {"I16", ScalarType::Short},
     {"U16", ScalarType::UInt16},
     {"F16", ScalarType::Half},
     {"BF16", ScalarType::BFloat16},
     {"I32", ScalarType::Int},
     {"U32", ScalarType::UInt32},
     {"F32", ScalarType::Float},
     {"F64", ScalarType::Double},
     {"I64", ScalarType::Long},
     {"U64", ScalarType::UInt64}}};

ScalarType scalar_type_of(const StoredTensor& stored) {
    for (const auto& [name, type] : scalar_types) {
        if (name == stored.type->name) return type;
    }
    throw std::invalid_argument("tensor '" + stored.name + "' has dtype " + std::string(stored.type->name));
}

std::string_view name_of(const NamedTensor& tensor) {
    for (const auto& [name, type] : scalar_types) {
        if (type == tensor.tensor.scalar_type()) return name;
    }
    throw std::invalid_argument("tensor '" + tensor.name + "' has a dtype that safetensors cannot hold");
}

}  // namespace

at::Tensor view_stored(const std::shared_ptr<const SafetensorsFile>& file, const StoredTensor& stored) {
    const auto type = scalar_type_of(stored);
    const auto options = at::TensorOptions().dtype(type);
    // An unaligned header is legal in the format, but LibTorch's kernels may assume alignment.
    if (stored.bytes == 0 || reinterpret_cast<std::uintptr_t>(stored.data) % stored.type->bytes != 0) {
        auto copy = at::empty(stored.shape, options);
        std::copy_n(stored.data, stored.bytes, static_cast<std::byte*>(copy.mutable_data_ptr()));
        return copy;
    }
    return at::from_blob(
        const_cast<std::byte*>(stored.data), stored.shape, [file](void*) {}, options);
}

std::string shape_text(at::IntArrayRef shape) {
    std::ostringstream text;
    text << shape;
    return text.str();
}

base::FileError write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                                  const std::map<std::string, std::string>& metadata) {
    std::vector<TensorToStore> stored;
    std::vector<at::Tensor> kept;
    for (const auto& named : tensors) {
        kept.push_back(named.tensor.detach().cpu().contiguous());
        const auto& tensor = kept.back();
        stored.push_back(
            {named.name, name_of(named), tensor.sizes().vec(), tensor.const_data_ptr(), tensor.nbytes()});
    }
    return write_safetensors(path, std::move(stored), metadata);
}

}  // namespace switchyard::model
