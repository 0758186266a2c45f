// Condition and reason on one line, for `supports`:
//
//     REQUIRE(verdict, request.head_dim.all_multiples_of(8), Code::HeadDim, "head_dim", "a multiple of 8",
//       request.head_dim);
//
// A header of its own, included by sources that define `supports` and by nothing else: Catch2 has a macro of
// the same name.
#pragma once

#include <switchyard/interfaces/verdict.h>

#define REQUIRE(verdict, condition, ...)                 \
    do {                                                 \
        if (!(condition)) (verdict).reject(__VA_ARGS__); \
    } while (false)
