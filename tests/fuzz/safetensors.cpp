// A safetensors file: the tensors that are told lie in the file, one after the other, as large as their shape
// and type say; and what is written of them is read back the same.
#include "core/workbench/model/weights/safetensors_file.h"
#include "core/workbench/model/weights/safetensors_writer.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace model = switchyard::model;

constexpr std::size_t few_tensors = 64;  // of more the whole is not written again

std::string_view bytes_of(const model::StoredTensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.data), tensor.bytes};
}

void write_again(const model::SafetensorsFile& file) {
    static const InputFolder folder;
    const auto path = folder.path() + "/again.safetensors";
    std::vector<model::TensorToStore> tensors;
    for (const auto& tensor : file.tensors())
        tensors.push_back({tensor.name, tensor.type->name, tensor.shape, tensor.data, tensor.bytes});
    const auto error = model::write_safetensors(path, tensors, file.metadata());
    require(!error, "it cannot be written again", error.value_or(""));
    const auto again = model::SafetensorsFile::open(path);
    require(again.file != nullptr, "what was written is refused", again.error);
    require(again.file->metadata() == file.metadata(), "the metadata does not come back");
    require(again.file->tensors().size() == file.tensors().size(), "tensors are lost");
    for (const auto& tensor : file.tensors()) {
        const auto* const found = again.file->find(tensor.name);
        require(found != nullptr && found->shape == tensor.shape && found->type == tensor.type &&
                    bytes_of(*found) == bytes_of(tensor),
                "a tensor does not come back", tensor.name);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    const InputFile input(text);
    const auto opened = model::SafetensorsFile::open(input.path());
    require((opened.file == nullptr) != opened.error.empty(), "neither a file nor an error");
    if (!opened.file) {
        require_message(opened.error);
        return 0;
    }
    std::size_t total = 0;
    for (const auto& tensor : opened.file->tensors()) {
        unsigned __int128 bytes = tensor.type->bytes;
        for (const auto dimension : tensor.shape)
            bytes = dimension == 0 ? 0 : bytes * static_cast<std::uint64_t>(dimension);
        require(bytes == tensor.bytes, "a tensor has another size than its shape", tensor.name);
        total += tensor.bytes;
        require(text.find(bytes_of(tensor)) != std::string_view::npos, "a tensor lies outside the file",
                tensor.name);
    }
    require(total <= size, "the tensors are larger than the file");
    if (opened.file->tensors().size() <= few_tensors) write_again(*opened.file);
    return 0;
}
