// Tables of components that are wrong on purpose, and what has to be found of each.
#pragma once

#include <string>
#include <vector>

#include "component.h"

namespace switchyard::test {

struct Mutant {
    const char* mutation;
    const char* filter;  // cases to run: a part of their names
    const char* code;    // of a fault that has to be among those found
    DType dtype = DType::float32;
};

// "12 cases: wrong_output (where: detail) ..."
std::string codes_of(const conformance::Report& report);

// A wide one and a narrow one, in which right components are held here; plugins' own are in all of them
// (tests/plugins/builtin).
inline const std::vector<DType> two_dtypes{DType::float32, DType::bfloat16};

// The cases that ran.
std::vector<std::string> names_of(const LocalComponent& sample, conformance::VerifyOptions options,
                                  const std::string& mutation = "");

// One check for each mutant.
void check_caught(const LocalComponent& component, const std::vector<Mutant>& mutants);

template <std::size_t count>
void expect_caught(const LocalComponent& component, const Mutant (&mutants)[count]) {
    check_caught(component, {mutants, mutants + count});
}

}  // namespace switchyard::test
