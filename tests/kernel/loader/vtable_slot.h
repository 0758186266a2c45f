// Where a virtual function stands in its vtable: in the Itanium C++ ABI a pointer to it holds 1 + its offset.
#pragma once

#include <cstddef>
#include <cstring>

namespace switchyard::test {

template <class Function>
std::size_t vtable_slot(Function function) {
    std::ptrdiff_t words[2];
    static_assert(sizeof(function) == sizeof(words));
    std::memcpy(words, &function, sizeof(words));
    return static_cast<std::size_t>(words[0] - 1) / sizeof(void*);
}

}  // namespace switchyard::test
