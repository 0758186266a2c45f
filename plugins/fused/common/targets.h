// What the kernels here are compiled for on x86-64: the baseline, AVX2 and AVX-512. What lies between them
// would cost compile time for processors that hardly anyone has. Included before any header of Highway's.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
