// What one call of a LibTorch operator computes and moves, by its inputs and outputs.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ArrayRef.h>

#include <switchyard/interfaces/types.h>
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

// What is the same for all calls of an operator.
struct OperatorFacts {
    enum class Product : std::uint8_t { none, mm, addmm, bmm, baddbmm, attention, attention_backward };
    Product product = Product::none;
    bool moves = true;      // false: it makes a view, or memory that nobody has written
    bool in_place = false;  // what it is given first is what it writes
};

OperatorFacts facts_of(const at::RecordFunction& function);

// At its begin: what it reads and, of products, the operations; `dtype` becomes theirs. In place: what it
// writes, too.
Cost cost_of_inputs(const OperatorFacts& facts, c10::ArrayRef<const c10::IValue> inputs, DType& dtype);
// At its end.
double written_bytes(const OperatorFacts& facts, const std::vector<c10::IValue>& outputs);

// Of its elements, or of its storage where that has fewer.
double tensor_bytes(const at::Tensor& tensor);

}  // namespace switchyard::profile
