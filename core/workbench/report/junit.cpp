#include "core/workbench/report/junit.h"

#include <algorithm>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::report {
namespace {

using Outcome = JUnitCase::Outcome;

// Without control characters, which XML 1.0 has no way to write.
std::string attribute(const char* name, const std::string& text) {
    return " " + std::string(name) + "=\"" + escape(base::printable(text)) + "\"";
}

std::string number(const char* name, const std::vector<JUnitCase>& cases, Outcome outcome) {
    return " " + std::string(name) + "=\"" +
           std::to_string(std::ranges::count(cases, outcome, &JUnitCase::outcome)) + "\"";
}

std::string element(const JUnitCase& one) {
    std::string xml = "    <testcase" + attribute("classname", one.group) + attribute("name", one.name);
    if (one.outcome == Outcome::passed) return xml + "/>\n";
    if (one.outcome == Outcome::skipped)
        return xml + ">\n      <skipped" + attribute("message", one.text) + "/>\n    </testcase>\n";
    return xml + ">\n      <" + (one.outcome == Outcome::error ? "error" : "failure") +
           attribute("type", one.type) + attribute("message", one.text) + "/>\n    </testcase>\n";
}

}  // namespace

std::string junit_xml(const std::string& suite, const std::vector<JUnitCase>& cases, double seconds) {
    std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite" +
                      attribute("name", suite) + " tests=\"" + std::to_string(cases.size()) + "\"" +
                      number("failures", cases, Outcome::failed) + number("errors", cases, Outcome::error) +
                      number("skipped", cases, Outcome::skipped) + " time=\"" + base::fixed(seconds, 1) +
                      "\">\n";
    for (const auto& one : cases) xml += element(one);
    return xml + "  </testsuite>\n</testsuites>\n";
}

}  // namespace switchyard::report
