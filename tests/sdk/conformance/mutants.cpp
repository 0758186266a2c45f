#include "mutants.h"

#include <algorithm>

#include <switchyard_test.h>

namespace switchyard::test {

std::string codes_of(const conformance::Report& report) {
    std::string text = std::to_string(report.cases) + " cases:";
    for (const auto& fault : report.faults)
        text += " " + fault.code + " (" + fault.where + ": " + fault.detail + ")";
    return text;
}

void check_caught(const LocalComponent& component, const std::vector<Mutant>& mutants) {
    for (const Mutant& mutant : mutants) {
        conformance::VerifyOptions options;
        options.filter = mutant.filter;
        options.dtypes = {mutant.dtype};
        options.max_faults = 12;
        const auto report = conformance::verify(under_test(component, mutant.mutation), options);
        INFO(mutant.mutation << ", expected " << mutant.code << ", got " << codes_of(report));
        CHECK(std::any_of(report.faults.begin(), report.faults.end(),
                          [&](const auto& fault) { return fault.code == mutant.code; }));
    }
}

}  // namespace switchyard::test
