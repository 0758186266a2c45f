#include "core/workbench/model/weights/safetensors_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::model {
namespace {

using base::Json;
using Error = std::optional<std::string>;

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and the data is mapped as it is");

// As the reference implementation has it; a tensor's entry holds lists and nothing deeper.
constexpr base::JsonLimits header_limits{100'000'000, 3, base::limits::json_values};

constexpr std::array<SafetensorsType, 15> types{{{"BOOL", 1},
                                                 {"U8", 1},
                                                 {"I8", 1},
                                                 {"F8_E5M2", 1},
                                                 {"F8_E4M3", 1},
                                                 {"I16", 2},
                                                 {"U16", 2},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I32", 4},
                                                 {"U32", 4},
                                                 {"F32", 4},
                                                 {"F64", 8},
                                                 {"I64", 8},
                                                 {"U64", 8}}};

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

Error read_shape(const Json& entry, StoredTensor& tensor, std::uint64_t& bytes) {
    const auto shape = entry.find("shape");
    if (shape == entry.end() || !shape->is_array()) return "has no \"shape\" array";
    std::optional<std::uint64_t> total = tensor.type->bytes;
    for (const auto& dimension : *shape) {
        if (!dimension.is_number_unsigned())
            return "has a shape with " + base::quoted(dimension.dump()) +
                   " in it, expected whole numbers from 0";
        const auto size = dimension.get<std::uint64_t>();
        if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return "has a dimension of " + dimension.dump();
        tensor.shape.push_back(static_cast<std::int64_t>(size));
        total = checked_product(*total, size);
        if (!total)
            return "has a shape " + base::quoted(shape->dump()) + " of more bytes than 64 bits can count";
    }
    bytes = *total;
    return std::nullopt;
}

Error read_entry(const Json& entry, StoredTensor& tensor, const std::byte* data, std::uint64_t data_bytes) {
    if (!entry.is_object()) return "is not an object with dtype, shape and data_offsets";
    const auto dtype = entry.find("dtype");
    if (dtype == entry.end() || !dtype->is_string()) return "has no \"dtype\"";
    tensor.type = find_safetensors_type(dtype->get_ref<const std::string&>());
    if (tensor.type == nullptr) return "has the unknown dtype " + base::quoted(dtype->dump());

    std::uint64_t expected = 0;
    if (auto error = read_shape(entry, tensor, expected)) return error;

    const auto offsets = entry.find("data_offsets");
    const bool pair = offsets != entry.end() && offsets->is_array() && offsets->size() == 2 &&
                      (*offsets)[0].is_number_unsigned() && (*offsets)[1].is_number_unsigned();
    if (!pair) return "has no \"data_offsets\" of two whole numbers";
    const auto begin = (*offsets)[0].get<std::uint64_t>();
    const auto end = (*offsets)[1].get<std::uint64_t>();
    if (begin > end || end > data_bytes) {
        return "has data_offsets " + offsets->dump() + ", but the file has " + std::to_string(data_bytes) +
               " bytes of data: it is truncated or its header is wrong";
    }
    if (end - begin != expected) {
        return "has data_offsets " + offsets->dump() + " (" + std::to_string(end - begin) + " bytes), but " +
               std::string(tensor.type->name) + " of shape " + base::quoted(entry.at("shape").dump()) +
               " needs " + std::to_string(expected);
    }
    tensor.data = data + begin;
    tensor.bytes = expected;
    return std::nullopt;
}

Error read_metadata(const Json& entry, std::map<std::string, std::string>& metadata) {
    if (!entry.is_object()) return "__metadata__ is not an object";
    for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return "__metadata__: '" + base::quoted(key) + "' is not a string";
        metadata[key] = value.get<std::string>();
    }
    return std::nullopt;
}

}  // namespace

const SafetensorsType* find_safetensors_type(std::string_view name) {
    const auto found =
        std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.name == name; });
    return found == types.end() ? nullptr : &*found;
}

SafetensorsFile::Opened SafetensorsFile::open(const std::string& path) {
    std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
    file->path_ = path;
    auto error = file->map_file();
    if (!error) error = file->read_header();
    if (error) return {nullptr, path + ": " + *error};
    return {std::move(file), ""};
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Error SafetensorsFile::map_file() {
    auto opened = base::MappedFile::open(path_);
    if (!opened.file) return std::move(opened.error);
    const auto bytes = opened.file->bytes();
    if (bytes.size() < 8) {
        return "has " + std::to_string(bytes.size()) +
               " bytes; a safetensors file starts with the 8-byte length of its header";
    }
    file_ = std::move(opened.file);
    mapping_ = bytes.data();
    size_ = bytes.size();
    return std::nullopt;
}

Error SafetensorsFile::read_header() {
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, mapping_, sizeof header_bytes);
    if (header_bytes > header_limits.bytes || header_bytes > size_ - 8) {
        return "its first 8 bytes say that the header has " + std::to_string(header_bytes) +
               " bytes, but the file has " + std::to_string(size_ - 8) +
               " after them: it is truncated or no safetensors file";
    }
    const auto* text = reinterpret_cast<const char*>(mapping_) + 8;
    if (header_bytes == 0 || text[0] != '{')
        return "its header does not start with '{': it is not a safetensors file";

    const auto parsed =
        base::parse_json({text, static_cast<std::size_t>(header_bytes)}, "", 1, header_limits);
    if (!parsed.fault.empty()) return "its header is " + parsed.fault;
    const Json& header = parsed.value;

    const std::uint64_t data_bytes = size_ - 8 - header_bytes;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            if (auto error = read_metadata(entry, metadata_)) return error;
            continue;
        }
        StoredTensor tensor;
        tensor.name = name;
        if (auto error = read_entry(entry, tensor, mapping_ + 8 + header_bytes, data_bytes))
            return "tensor '" + base::quoted(name) + "' " + *error;
        tensors_.push_back(std::move(tensor));
    }
    std::stable_sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) {
        return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
    });
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_[tensors_[i].name] = i;
    return check_coverage(data_bytes);
}

Error SafetensorsFile::check_coverage(std::uint64_t data_bytes) const {
    const std::byte* next = mapping_ + (size_ - data_bytes);
    const std::string* before = nullptr;
    for (const auto& tensor : tensors_) {
        if (tensor.data < next)
            return "tensors '" + base::quoted(*before) + "' and '" + base::quoted(tensor.name) + "' overlap";
        if (tensor.data > next) {
            return "there is a hole of " + std::to_string(tensor.data - next) + " bytes before tensor '" +
                   base::quoted(tensor.name) + "'";
        }
        next = tensor.data + tensor.bytes;
        before = &tensor.name;
    }
    const auto rest = static_cast<std::uint64_t>(mapping_ + size_ - next);
    if (rest != 0)
        return "there are " + std::to_string(rest) + " bytes after the last tensor that belong to none";
    return std::nullopt;
}

}  // namespace switchyard::model
