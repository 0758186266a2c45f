// What a plugin says of itself: the section of its library.
#include "core/kernel/loader/manifest.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace loader = switchyard::loader;

void check(const loader::ManifestResult& result) {
    require(result.manifest.has_value() == result.error.empty(), "neither a manifest nor an error");
    if (!result.manifest) return require_message(result.error);
    require(!result.manifest->name.empty(), "a plugin without a name");
    for (const auto& component : result.manifest->components)
        require(result.manifest->find(component.kind, component.id) == &component, "a component is not found",
                component.id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    check(loader::parse_manifest(text));
    // With a header that fits, so that the fuzzer need not find the length of what follows.
    std::string section("SWYDMAN1\1\0\0\0", 12);
    for (unsigned shift = 0; shift < 32; shift += 8) section += static_cast<char>(size >> shift & 0xffU);
    check(loader::parse_manifest(section.append(text)));
    return 0;
}
