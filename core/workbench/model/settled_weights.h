// What becomes of dense weights when nothing will change them any more: each component makes its form of them
// once, and where every phase has one that replaces the weight, its values are let go.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/model/linear.h"

namespace switchyard::model {

// `linears`: of one model whose weights are loaded, and which is not trained. Returns the bytes that were let
// go. A weight that is let go keeps its sizes; whoever reads its values has none.
std::int64_t settle_weights(const std::vector<Linear>& linears);

}  // namespace switchyard::model
