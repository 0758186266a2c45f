// Numbers as people read them. To add a case: a value, and its text.
#include <cmath>

#include "core/kernel/base/number_text.h"

#include <switchyard_test.h>

using namespace switchyard::base;

TEST_CASE("numbers keep three digits, and never get an exponent") {
    CHECK(digits(0.0) == "0.00");
    CHECK(digits(0.01234) == "0.0123");
    CHECK(digits(1.5) == "1.50");
    CHECK(digits(9.996) == "10.0");  // three digits after rounding too
    CHECK(digits(99.96) == "100");
    CHECK(digits(12345.6) == "12346");
    CHECK(digits(-1234.5, 1) == "-1234");
    CHECK(digits(1e-12) == "0.000000000");
    CHECK(digits(std::nan("")) == "-");
    CHECK(interval_text({1.5, 1.25, 1.755}) == "1.50 [1.25, 1.75]");
}

TEST_CASE("small numbers have an exponent without zeros before it") {
    CHECK(scientific(4.06e-7) == "4.1e-7");
    CHECK(scientific(1e-6) == "1.0e-6");
    CHECK(scientific(12.0) == "1.2e+1");
    CHECK(scientific(1.25, 3) == "1.25e+0");
    CHECK(scientific(0.0) == "0");
    CHECK(scientific(INFINITY) == "-");
}

TEST_CASE("bytes are counted in powers of 1000") {
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(312) == "312 B");
    CHECK(bytes_text(999) == "999 B");
    CHECK(bytes_text(999999) == "1.00 MB");
    CHECK(bytes_text(48e6) == "48.0 MB");
    CHECK(bytes_text(1.5e9) == "1.50 GB");
    CHECK(bytes_text(2e15) == "2.00 PB");
    CHECK(bytes_text(INFINITY) == "-");
}
