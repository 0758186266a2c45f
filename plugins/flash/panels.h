// Operands of a tile's product (<switchyard/sdk/cpu/tile_operands.h>), packed by the kernels here.
#pragma once

#include <cstdint>

#include <switchyard/sdk/cpu/tile_operands.h>

#include "call.h"
#include "row_kernels.h"

namespace switchyard::flash {

template <class Compute, class Storage>
void right(const Source<Storage>& rows, std::int64_t n, std::int64_t d, std::int64_t padded_n, Compute* out) {
    tiles::right(row_kernels().panels, rows, n, d, padded_n, out);
}

template <class Compute, class Storage>
void right_of_transposed(const Source<Storage>& rows, std::int64_t n, std::int64_t d, std::int64_t padded_n,
                         Compute* out) {
    tiles::right_of_transposed(row_kernels().panels, rows, n, d, padded_n, out);
}

}  // namespace switchyard::flash
