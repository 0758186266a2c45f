// What the conformance suite found wrong, as text that a failing check prints.
#pragma once

#include <string>

#include <switchyard/conformance/verify.h>

namespace switchyard::test {

// "": no fault.
inline std::string faults(const conformance::Report& report) {
    std::string text;
    for (const auto& fault : report.faults)
        text += fault.code + " in " + fault.where + ": " + fault.detail + "\n";
    return text;
}

}  // namespace switchyard::test
