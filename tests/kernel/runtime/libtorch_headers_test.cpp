// LibTorch's headers have members in classes that exist only without NDEBUG, with which it is compiled: what
// our sources see must be what LibTorch sees, in every kind of build.
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <switchyard_test.h>

namespace {

std::size_t seen = 0;

}  // namespace

TEST_CASE("LibTorch and its headers agree on what they share, also in a build for debugging") {
#ifndef NDEBUG
    FAIL("NDEBUG is not defined");
#endif
    // Without it the inputs of an operator are taken for ones that were not asked for.
    const auto handle =
        at::addThreadLocalCallback(at::RecordFunctionCallback([](const at::RecordFunction& of) {
                                       seen = of.inputs().size();
                                       return std::unique_ptr<at::ObserverContext>();
                                   })
                                       .needsInputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
    at::relu(at::zeros({2}));
    at::removeCallback(handle);
    CHECK(seen > 0);
}
