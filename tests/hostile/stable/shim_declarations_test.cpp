// stable_tensor.h declares what LibTorch's own header declares: a function of "C" that is declared twice
// with other types does not compile.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <switchyard/interfaces/stable_tensor.h>

#include <switchyard_test.h>

TEST_CASE("a handle is LibTorch's own") {
    AtenTensorHandle handle = nullptr;
    REQUIRE(aoti_torch_new_uninitialized_tensor(&handle) == 0);
    bool defined = true;
    CHECK(aoti_torch_is_defined(handle, &defined) == 0);
    CHECK_FALSE(defined);
    CHECK(aoti_torch_delete_tensor_object(handle) == 0);
}
