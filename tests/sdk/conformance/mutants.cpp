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

std::vector<std::string> names_of(const LocalComponent& sample, conformance::VerifyOptions options,
                                  const std::string& mutation) {
    std::vector<std::string> names;
    options.on_case = [&](const std::string& name) { names.push_back(name); };
    conformance::verify(under_test(sample, mutation), options);
    return names;
}

void check_caught(const LocalComponent& component, const std::vector<Mutant>& mutants) {
    for (const Mutant& mutant : mutants) {
        // The first fault is the right one of nearly all; some have another one or a few before it.
        conformance::Report report;
        bool caught = false;
        for (const std::int64_t faults : {1, 12}) {
            conformance::VerifyOptions options;
            options.filter = mutant.filter;
            options.dtypes = {mutant.dtype};
            options.max_faults = faults;
            report = conformance::verify(under_test(component, mutant.mutation), options);
            caught = std::any_of(report.faults.begin(), report.faults.end(),
                                 [&](const auto& fault) { return fault.code == mutant.code; });
            if (caught) break;
        }
        INFO(mutant.mutation << ", expected " << mutant.code << ", got " << codes_of(report));
        CHECK(caught);
    }
}

}  // namespace switchyard::test
