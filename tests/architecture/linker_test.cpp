// What this program was linked by, as all are, finds the handlers of a function that begins where an empty
// one does: g++ makes empty ones of what it knows not to be reached.
#include <switchyard_test.h>

// Without optimisation both are placed in this order.
asm(".pushsection .text.switchyard_unwound, \"ax\", @progbits\n"
    ".type switchyard_empty, @function\n"
    "switchyard_empty:\n"
    ".cfi_startproc\n"
    ".cfi_endproc\n"
    ".size switchyard_empty, 0\n"
    ".popsection\n");

namespace {

[[gnu::section(".text.switchyard_unwound"), gnu::noinline]] int caught() {
    try {
        throw 42;
    } catch (int number) {
        return number;
    }
}

}  // namespace

TEST_CASE("an exception is caught in a function that begins where an empty one does") {
    CHECK(caught() == 42);
}
