// The CUDA library that nvcc and the linker have made, where there is one: it opens without a device, and has what the base library asks for.
#include <dlfcn.h>

#include <switchyard_test.h>

TEST_CASE("the CUDA library opens on a machine without a device") {
    const auto path = switchyard::test::build_dir() / "lib/switchyard/plugins/libflash_cuda.so";
    if (!std::filesystem::exists(path)) return switchyard::test::skip("built without CUDA");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    INFO((library == nullptr ? dlerror() : ""));
    REQUIRE(library != nullptr);
    CHECK(dlsym(library, "switchyard_plugin_cuda_v1") != nullptr);
}
