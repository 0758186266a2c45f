// JUnit's XML, which programs that run tests for others read: a suite of cases that passed, failed, had an
// error or were skipped.
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

namespace switchyard::report {

struct JUnitCase {
    enum class Outcome { passed, failed, error, skipped };

    std::string group, name;  // "classname" and "name"
    Outcome outcome = Outcome::passed;
    std::string type, text;  // of what did not pass
};

// Foreign text is escaped, and what XML cannot hold made visible.
std::string junit_xml(const std::string& suite, const std::vector<JUnitCase>& cases, double seconds);

}  // namespace switchyard::report
