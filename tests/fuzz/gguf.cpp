// A GGUF file: the tensors that are told lie in the file, apart from each other, as large as their sizes and
// types say; the model that is read of it is the one that a configuration has which names the file; and its
// tokenizer is one, or it is said why not.
#include <algorithm>
#include <cmath>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/gguf_tokenizer.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/gguf/blocks.h"
#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/huggingface_config.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace base = switchyard::base;
namespace data = switchyard::data;
namespace gguf = switchyard::gguf;
namespace model = switchyard::model;

void check_tensors(const gguf::File& file, std::string_view text) {
    const std::byte* end = nullptr;
    std::size_t total = 0;
    for (const auto& tensor : file.tensors()) {
        unsigned __int128 elements = 1;
        for (const auto size : tensor.shape) elements *= static_cast<std::uint64_t>(size);
        require(elements % tensor.type->elements == 0 &&
                    elements / tensor.type->elements * tensor.type->bytes == tensor.bytes,
                "a tensor has another size than its shape", tensor.name);
        require(tensor.data >= end, "tensors overlap", tensor.name);
        end = tensor.data + tensor.bytes;
        total += tensor.bytes;
        require(file.find(tensor.name) == &tensor, "a tensor is not found by its name", tensor.name);
        if (!tensor.type->readable) continue;
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        gguf::dequantize(*tensor.type, tensor.data, values);
    }
    require(total <= text.size(), "the tensors are larger than the file");
}

void check_model(const gguf::File& file) {
    const auto read = model::read_gguf_model(file);
    if (!read.error.empty()) return require_message(read.error);
    switchyard::config::LoadRequest request;
    request.path = "job.toml";
    request.text = "[model]\nfrom = \"" + file.path() + "\"\n";
    request.read_model_folder = model::read_model_folder;
    const auto loaded = switchyard::config::load(request);
    require(loaded.config.has_value() != !loaded.problems.empty(), "neither a configuration nor a problem");
    if (loaded.config) require(loaded.config->model == read.model, "the configuration has another model");
}

void check_tokenizer(const gguf::File& file) {
    try {
        const auto read = data::read_gguf_tokenizer(file);
        const auto tokenizer = data::read_tokenizer_json(read.json, file.path(), read.names);
        for (const auto id : tokenizer->encode("it's 12 words, \xC3\xA9"))
            require(id >= 0 && id < tokenizer->size(), "a number is outside of the vocabulary");
    } catch (const base::InputError& error) {
        require_message(error.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    const InputFile input(text);
    const auto opened = gguf::File::open(input.path());
    require((opened.file == nullptr) != opened.error.empty(), "neither a file nor an error");
    if (!opened.file) {
        require_message(opened.error);
        return 0;
    }
    require(gguf::is_gguf_file(input.path()), "it does not begin as a GGUF file does");
    check_tensors(*opened.file, text);
    check_model(*opened.file);
    check_tokenizer(*opened.file);
    return 0;
}
