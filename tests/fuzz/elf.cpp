// A shared library's file, and the manifest in it: what is told of the file stands in it.
#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/manifest.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace loader = switchyard::loader;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    const InputFile file(text);
    const auto read = loader::read_elf(file.path(), loader::manifest_section);
    require((read.error == loader::ElfError::none) == read.message.empty(),
            "an error without words, or words without one");
    if (read.error != loader::ElfError::none) {
        require_message(read.message);
        return 0;
    }
    const auto& image = read.image;
    require(!loader::machine_name(image.machine).empty(), "a machine without a name");
    if (!image.section) return 0;
    require(text.find(*image.section) != std::string_view::npos, "a section that does not stand in the file");
    const auto manifest = loader::parse_manifest(*image.section);
    require(manifest.manifest.has_value() == manifest.error.empty(), "neither a manifest nor an error");
    return 0;
}
