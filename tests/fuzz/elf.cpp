// A shared library's file, and the manifest in it: every name that is told stands in the file, and nothing is
// larger than the file.
#include <switchyard/host/discovery/elf_image.h>
#include <switchyard/host/discovery/manifest.h>

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace host = switchyard::host;

void require_in_file(const std::string& name, std::string_view file) {
    const std::string ended = name + '\0';
    require(file.find(ended) != std::string_view::npos, "a name that does not stand in the file", name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    const InputFile file(text);
    const auto read = host::read_elf(file.path(), {host::manifest_section, true});
    require((read.error == host::ElfError::none) == read.message.empty(),
            "an error without words, or words without one");
    if (read.error != host::ElfError::none) {
        require_message(read.message);
        return 0;
    }
    const auto& image = read.image;
    for (const auto& name : image.needed) require_in_file(name, text);
    for (const auto& name : image.version_definitions) require_in_file(name, text);
    for (const auto& need : image.version_needs) {
        require_in_file(need.library, text);
        require_in_file(need.version, text);
    }
    for (const auto* name : {&image.soname, &image.rpath, &image.runpath}) {
        if (!name->empty()) require_in_file(*name, text);
    }
    require(!host::machine_name(image.machine).empty(), "a machine without a name");
    if (!image.section) return 0;
    require(text.find(*image.section) != std::string_view::npos, "a section that does not stand in the file");
    const auto manifest = host::parse_manifest(*image.section);
    require(manifest.manifest.has_value() == manifest.error.empty(), "neither a manifest nor an error");
    return 0;
}
