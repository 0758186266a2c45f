// The CUDA libraries that nvcc and the linker have made, where there are any: they open without a device, and
// have what the base libraries ask for.
#include <dlfcn.h>

#include <switchyard_test.h>

TEST_CASE("a CUDA library opens on a machine without a device") {
    const std::string plugin = GENERATE(as<std::string>(), "flash", "fused", "optim8bit");
    const auto path =
        switchyard::test::build_dir() / "lib/switchyard/plugins" / ("lib" + plugin + "_cuda.so");
    if (!std::filesystem::exists(path)) return switchyard::test::skip("built without CUDA");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    INFO((library == nullptr ? dlerror() : ""));
    REQUIRE(library != nullptr);
    CHECK(dlsym(library, "switchyard_plugin_cuda_v1") != nullptr);
}
