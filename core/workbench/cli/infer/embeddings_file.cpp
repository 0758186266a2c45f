#include "core/workbench/cli/infer/embeddings_file.h"

#include <bit>
#include <string_view>

#include "core/kernel/base/atomic_file.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/model/weights/safetensors_writer.h"

namespace switchyard::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

// The magic, the version, the length of the header, and the header, which ends with a line break so that the
// values begin at a multiple of 64.
std::string npy_header(std::int64_t rows, std::int64_t columns) {
    std::string fields = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                         std::to_string(columns) + "), }";
    constexpr std::size_t before = 10, aligned = 64;
    fields.append((aligned - (before + fields.size() + 1) % aligned) % aligned, ' ').append("\n");
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(fields.size() & 0xFFU);
    header += static_cast<char>(fields.size() >> 8U);
    return header + fields;
}

}  // namespace

EmbeddingsFormat embeddings_format(const std::string& path) {
    if (path.ends_with(".npy")) return EmbeddingsFormat::npy;
    if (path.ends_with(".safetensors")) return EmbeddingsFormat::safetensors;
    throw Failure("--out: error: " + path + ": expected a name that ends in .npy or .safetensors");
}

void write_embeddings(const std::string& path, const std::vector<float>& values, std::int64_t rows,
                      std::int64_t columns) {
    const auto bytes = values.size() * sizeof(float);
    base::FileError error;
    if (embeddings_format(path) == EmbeddingsFormat::safetensors) {
        error =
            model::write_safetensors(path, {{"embeddings", "F32", {rows, columns}, values.data(), bytes}});
    } else {
        base::AtomicFile file(path);
        const auto header = npy_header(rows, columns);
        error = file.open();
        if (!error) error = file.write(header.data(), header.size());
        if (!error) error = file.write(values.data(), bytes);
        if (!error) error = file.commit();
    }
    if (error) throw Failure(*error, Exit::run_failed);
}

}  // namespace switchyard::cli
