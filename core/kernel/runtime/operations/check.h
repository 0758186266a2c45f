// Checks that every operation makes: what a component is bound for, and what a call brings. Their texts name
// the slot, the component and the values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/tokens.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

// Throws std::invalid_argument: "attention.cross (plugin 'flash', component 'flash'): " and the parts.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void refuse(const BindingBase& binding, const Parts&... parts) {
    std::ostringstream text;
    text << binding.describe() << ": ";
    (text << ... << parts);
    throw std::invalid_argument(std::move(text).str());
}

template <class... Parts>
void require(const BindingBase& binding, bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        refuse(binding, parts...);
}

inline bool within(const Range& range, std::int64_t value) {
    return value >= range.min && value <= range.max;
}

// `what` of a call has this value; the component is bound for a range.
inline void require_within(const BindingBase& binding, const char* what, std::int64_t value,
                           const Range& range) {
    if (!within(range, value)) [[unlikely]]
        refuse(binding, what, " is ", value, ", bound for ", range);
}

// dtype and device of a call's main input.
void require_tensor(const BindingBase& binding, const char* what, const at::Tensor& tensor);

// Parts of a plan that an operation can do; throws std::invalid_argument for any other, and for a component
// that could not be differentiated as the request wants it.
void check_binding(const BindingBase& binding, const resolver::Composed& composed,
                   std::initializer_list<std::string_view> possible, double dropout = 0.0);

bool has_part(const resolver::Composed& composed, std::string_view part);

// int32 [sequences + 1], starting at 0, never decreasing, ending at `total`; the values are read on the CPU
// only.
void require_cu_seqlens(const BindingBase& binding, const char* what, const at::Tensor& cu_seqlens,
                        std::int64_t total);

// Hidden states x [batch, seq, width] or [total, width] and the tokens that dropout counts by.
void require_tokens(const BindingBase& binding, const at::Tensor& x, const Tokens& tokens);

// Each of int32 [count], in [0, limit]; the values are read on the CPU only.
void require_lengths(const BindingBase& binding, const char* what, const at::Tensor& lengths,
                     std::int64_t count, std::int64_t limit);

// Sum of the tensors' version counters: changes with every change in place.
std::uint64_t versions_of(std::initializer_list<const at::Tensor*> tensors);

}  // namespace switchyard::runtime
