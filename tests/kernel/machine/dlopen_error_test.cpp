// The loader's messages in plain words. To add one: a row.
#include "core/kernel/machine/dlopen_error.h"

#include <switchyard_test.h>

using namespace switchyard::machine;

TEST_CASE("the loader's messages are told in plain words") {
    struct Row {
        const char *message, *reason;
    };
    const Row rows[] = {
        {"/p/libx.so: undefined symbol: _ZN2at3addERKNS_6TensorES2_",
         "needs the symbol at::add(at::Tensor const&, at::Tensor const&), which no library that it names "
         "has"},
        {"/p/libx.so: undefined symbol: plain_c (/p/libx.so)",
         "needs the symbol plain_c, which no library that it names has"},
        {"libfoo.so.1: cannot open shared object file: No such file or directory",
         "needs libfoo.so.1, which was not found"},
        {"/lib/libc.so.6: version `GLIBC_2.99' not found (required by /p/libx.so)",
         "needs GLIBC_2.99, which /lib/libc.so.6 does not have"},
        {"/p/libx.so: cannot allocate memory in static TLS block",
         "the loader refuses it: cannot allocate memory in static TLS block"},
        {"something new", "the loader refuses it: something new"},
        {"", "the loader refuses it: "},
    };
    for (const Row& row : rows) {
        const LoadError error = explain_dlopen_error("/p/libx.so", row.message);
        CHECK(error.reason == row.reason);
        CHECK_FALSE(error.hint.empty());
    }
}
