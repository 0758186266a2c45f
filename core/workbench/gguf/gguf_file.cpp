#include "core/workbench/gguf/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/gguf/byte_reader.h"

namespace switchyard::gguf {
namespace {

using base::InputError;

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and their data is mapped as it is");

constexpr std::string_view magic = "GGUF";
constexpr std::uint32_t oldest_version = 2, newest_version = 3;
constexpr std::uint64_t key_bytes = 65535;  // longest, as the format says
constexpr std::uint64_t name_bytes = 64;    // likewise of a tensor
constexpr std::uint32_t most_dimensions = 4;
constexpr std::int64_t standard_alignment = 32, largest_alignment = 65536;
constexpr int deepest_list = 4;
// The fewest bytes of an entry: a key of one character with a byte; a tensor of one dimension.
constexpr std::uint64_t smallest_entry = 8 + 1 + 4 + 1, smallest_tensor = 8 + 1 + 4 + 8 + 4 + 8;

bool is_plain(std::string_view key) {
    return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

// Of one file, whose mapping it fills in; throws InputError without the file's name.
class FileReader {
public:
    explicit FileReader(File& file) : file_(file), bytes_(file.mapping_->bytes()) {}

    void read() {
        read_header();
        for (std::uint64_t i = 0; i < entries_; ++i) read_entry();
        bytes_.require_room(tensors_, smallest_tensor, "tensors");
        for (std::uint64_t i = 0; i < tensors_; ++i) read_tensor();
        place_tensors();
        check_coverage();
    }

private:
    void read_header() {
        if (bytes_.left() < magic.size())
            throw InputError("has " + base::counted(bytes_.left(), "byte") +
                             "; a GGUF file begins with \"GGUF\"");
        std::array<char, 4> start{};
        for (auto& c : start) c = bytes_.number<char>("beginning");
        if (std::string_view(start.data(), start.size()) != magic)
            throw InputError("does not begin with \"GGUF\": it is no GGUF file");
        const auto version = bytes_.number<std::uint32_t>("version");
        if (version != 0 && (version & 0xFFFFU) == 0)
            throw InputError("is big-endian, which is not read here; expected a little-endian file");
        if (version < oldest_version || version > newest_version)
            throw InputError("has the version " + std::to_string(version) +
                             " of the format; expected 2 or 3");
        file_.version_ = version;
        tensors_ = bytes_.number<std::uint64_t>("number of tensors");
        entries_ = bytes_.count(smallest_entry, "metadata entries");
    }

    void read_entry() {
        const auto key = bytes_.text("metadata key");
        if (key.empty() || key.size() > key_bytes || !is_plain(key))
            throw InputError("has the metadata key '" + base::quoted(key) +
                             "'; expected 1 to 65535 printable ASCII characters");
        const auto type = bytes_.number<std::uint32_t>("metadata type");
        try {
            auto value = read_value(type, 0);
            if (!file_.metadata_.emplace(key, std::move(value)).second)
                throw InputError("stands there twice");
        } catch (const InputError& error) {
            throw InputError("metadata '" + base::quoted(key) + "': " + error.what());
        }
    }

    Value read_value(std::uint32_t type, int depth) {
        if (++values_ > base::limits::json_values)
            throw InputError("is beyond the " + std::to_string(base::limits::json_values) +
                             " values that are read of one file");
        const auto kind = static_cast<ValueType>(type);
        switch (kind) {
            case ValueType::uint8:
                return whole<std::uint8_t>(kind);
            case ValueType::int8:
                return whole<std::int8_t>(kind);
            case ValueType::uint16:
                return whole<std::uint16_t>(kind);
            case ValueType::int16:
                return whole<std::int16_t>(kind);
            case ValueType::uint32:
                return whole<std::uint32_t>(kind);
            case ValueType::int32:
                return whole<std::int32_t>(kind);
            case ValueType::int64:
                return whole<std::int64_t>(kind);
            case ValueType::uint64:
                return unsigned_whole();
            case ValueType::float32:
                return {kind, static_cast<double>(bytes_.number<float>("value"))};
            case ValueType::float64:
                return {kind, bytes_.number<double>("value")};
            case ValueType::boolean:
                return flag();
            case ValueType::text:
                return {kind, bytes_.text("text")};
            case ValueType::list:
                return {kind, list(depth + 1)};
        }
        throw InputError("has a value of type " + std::to_string(type) + "; expected 0 to 12");
    }

    template <class Number>
    Value whole(ValueType type) {
        return {type, static_cast<std::int64_t>(bytes_.number<Number>("value"))};
    }

    Value unsigned_whole() {
        const auto value = bytes_.number<std::uint64_t>("value");
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return {ValueType::uint64, static_cast<double>(value)};
        return {ValueType::uint64, static_cast<std::int64_t>(value)};
    }

    Value flag() {
        const auto byte = bytes_.number<std::uint8_t>("value");
        if (byte > 1) throw InputError("is a flag of " + std::to_string(byte) + "; expected 0 or 1");
        return {ValueType::boolean, byte == 1};
    }

    List list(int depth) {
        if (depth > deepest_list)
            throw InputError("has lists nested deeper than " + std::to_string(deepest_list) + " levels");
        const auto of = bytes_.number<std::uint32_t>("type of a list");
        const auto many = bytes_.count(1, "values of a list");
        List list{static_cast<ValueType>(of), {}};
        for (std::uint64_t i = 0; i < many; ++i) list.items.push_back(read_value(of, depth));
        return list;
    }

    void read_tensor() {
        Tensor tensor;
        const auto name = bytes_.text("name of a tensor");
        if (name.empty() || name.size() > name_bytes)
            throw InputError("has a tensor with the name '" + base::quoted(name) +
                             "'; expected 1 to 64 bytes");
        tensor.name = name;
        try {
            read_sizes(tensor);
        } catch (const InputError& error) {
            throw InputError("tensor '" + base::quoted(name) + "' " + error.what());
        }
        file_.tensors_.push_back(std::move(tensor));
    }

    void read_sizes(Tensor& tensor) {
        const auto dimensions = bytes_.number<std::uint32_t>("number of dimensions");
        if (dimensions == 0 || dimensions > most_dimensions)
            throw InputError("has " + std::to_string(dimensions) + " dimensions; expected 1 to 4");
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            const auto size = bytes_.number<std::uint64_t>("dimension");
            if (size == 0 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                throw InputError("has a dimension of " + std::to_string(size));
            tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
        }
        const auto type = bytes_.number<std::uint32_t>("type");
        tensor.type = find_tensor_type(type);
        if (tensor.type == nullptr)
            throw InputError("has the type " + std::to_string(type) + ", which the format does not have");
        tensor.bytes = bytes_of(tensor);
        offsets_.push_back(bytes_.number<std::uint64_t>("offset"));
    }

    static std::uint64_t bytes_of(const Tensor& tensor) {
        const auto inner = static_cast<std::uint64_t>(tensor.shape.back());
        if (inner % tensor.type->elements != 0)
            throw InputError("has rows of " + std::to_string(inner) + " numbers, but " +
                             std::string(tensor.type->name) + " has blocks of " +
                             std::to_string(tensor.type->elements));
        std::uint64_t bytes = tensor.type->bytes;
        std::uint64_t elements = 1;
        bool fits = !__builtin_mul_overflow(bytes, inner / tensor.type->elements, &bytes);
        for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
            fits =
                fits && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(tensor.shape[i]), &bytes);
        for (const auto size : tensor.shape)
            fits = fits && !__builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements);
        if (!fits || elements > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            throw InputError("has sizes of more numbers than 64 bits can count");
        return bytes;
    }

    std::uint64_t alignment() const {
        const auto found = file_.metadata_.find("general.alignment");
        if (found == file_.metadata_.end()) return standard_alignment;
        const auto* const value = std::get_if<std::int64_t>(&found->second.held);
        const bool good = value != nullptr && *value >= 8 && *value <= largest_alignment &&
                          std::has_single_bit(static_cast<std::uint64_t>(*value));
        if (!good)
            throw InputError("metadata 'general.alignment': expected a power of two from 8 to 65536, got " +
                             shown(found->second));
        return static_cast<std::uint64_t>(*value);
    }

    void place_tensors() {
        alignment_ = alignment();
        const auto whole = file_.mapping_->bytes();
        const auto start = (bytes_.at() + alignment_ - 1) / alignment_ * alignment_;
        const std::uint64_t room = start <= whole.size() ? whole.size() - start : 0;
        if (tensors_ == 0) return;
        for (std::size_t i = 0; i < file_.tensors_.size(); ++i) {
            auto& tensor = file_.tensors_[i];
            const auto offset = offsets_[i];
            const auto where = "tensor '" + base::quoted(tensor.name) + "' ";
            if (offset % alignment_ != 0)
                throw InputError(where + "begins at " + std::to_string(offset) +
                                 ", which is no multiple of the alignment " + std::to_string(alignment_));
            if (offset > room || tensor.bytes > room - offset)
                throw InputError(where + "has " + std::to_string(tensor.bytes) + " bytes from " +
                                 std::to_string(offset) + ", but the file has " + std::to_string(room) +
                                 " bytes of data: it is truncated or wrong");
            tensor.data = whole.data() + start + offset;
        }
        data_ = whole.subspan(start);
    }

    void check_coverage() {
        auto& tensors = file_.tensors_;
        std::stable_sort(tensors.begin(), tensors.end(),
                         [](const auto& a, const auto& b) { return a.data < b.data; });
        const std::byte* next = data_.data();
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const auto& tensor = tensors[i];
            if (tensor.data < next)
                throw InputError("tensors '" + base::quoted(tensors[i - 1].name) + "' and '" +
                                 base::quoted(tensor.name) + "' overlap");
            require_padding(next, tensor.data, "before tensor '" + base::quoted(tensor.name) + "'");
            next = tensor.data + tensor.bytes;
            if (!file_.by_name_.emplace(tensor.name, i).second)
                throw InputError("has two tensors with the name '" + base::quoted(tensor.name) + "'");
        }
        require_padding(next, data_.data() + data_.size(), "behind the last tensor");
    }

    void require_padding(const std::byte* from, const std::byte* to, const std::string& where) const {
        const auto bytes = static_cast<std::uint64_t>(to - from);
        if (bytes >= alignment_)
            throw InputError("has " + std::to_string(bytes) + " bytes " + where +
                             " that belong to none; expected padding of less than " +
                             std::to_string(alignment_));
    }

    File& file_;
    ByteReader bytes_;
    std::uint64_t tensors_ = 0, entries_ = 0, alignment_ = standard_alignment;
    std::size_t values_ = 0;
    std::vector<std::uint64_t> offsets_;
    std::span<const std::byte> data_;
};

std::int64_t Tensor::elements() const {
    std::int64_t all = 1;
    for (const auto size : shape) all *= size;
    return all;
}

bool is_gguf_file(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    std::array<char, magic.size()> head{};
    std::ifstream file(path, std::ios::binary);
    return file.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == magic;
}

File::Opened File::open(const std::string& path) {
    std::shared_ptr<File> file(new File);
    file->path_ = path;
    auto opened = base::MappedFile::open(path);
    if (!opened.file) return {nullptr, path + ": " + opened.error};
    file->mapping_ = std::move(opened.file);
    try {
        FileReader(*file).read();
    } catch (const InputError& error) {
        return {nullptr, path + ": " + error.what()};
    }
    return {std::move(file), ""};
}

const Tensor* File::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::string shown(const Value& value) {
    if (const auto* text = std::get_if<std::string_view>(&value.held)) return "'" + base::quoted(*text) + "'";
    if (const auto* list = std::get_if<List>(&value.held))
        return "a list of " + std::to_string(list->items.size());
    if (const auto* flag = std::get_if<bool>(&value.held)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value.held)) return std::to_string(*whole);
    return base::digits(std::get<double>(value.held), 6);
}

}  // namespace switchyard::gguf
