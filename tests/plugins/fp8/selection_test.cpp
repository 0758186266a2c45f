// Which layers fp8 leaves in bfloat16. To add a case: a name and a number of layers.
#include "selection.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::fp8;

TEST_CASE("the first and the last layer of a stack are kept, and what stands outside of it") {
    const Keep keep;
    const auto kept = [&](const char* name, std::int64_t layers) { return is_kept(keep, {name, 0, layers}); };
    CHECK(kept("encoder.0.attention.q", 12));
    CHECK(kept("decoder.11.feed_forward.out", 12));
    CHECK_FALSE(kept("encoder.1.attention.q", 12));
    CHECK_FALSE(kept("encoder.10", 12));
    for (const char* outside : {"pooler", "masked_lm.dense", "head", "a.b.3"}) CHECK(kept(outside, 12));
    CHECK(kept("encoder.0", 1));
}

TEST_CASE("so many layers as are asked for, and those that are named") {
    const Keep none{{}, 0, 0};
    for (const char* name : {"encoder.0.attention.q", "encoder.11", "pooler"})
        CHECK_FALSE(is_kept(none, {name, 0, 12}));
    const Keep some{{"*.out", "encoder.5"}, 2, 3};
    for (const char* name :
         {"encoder.1.x", "encoder.9", "encoder.4.attention.out", "encoder.5.feed_forward.in"})
        CHECK(is_kept(some, {name, 0, 12}));
    for (const char* name : {"encoder.2.x", "encoder.8", "encoder.50.outer"})
        CHECK_FALSE(is_kept(some, {name, 0, 100}));
}

TEST_CASE("intensity is the harmonic mean of the sizes by three") {
    CHECK(intensity(4096, 8192, 16384) == Approx(1.0 / (1.0 / 4096 + 1.0 / 8192 + 1.0 / 16384)));
    CHECK(intensity(3072, 3072, 3072) == Approx(1024.0));
    CHECK(intensity(0, 8, 8) == 0.0);
    CHECK(intensity(0, 0, 0) == 0.0);
}
