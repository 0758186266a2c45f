#include "core/workbench/compare/experiment/stack_arm.h"

#include <algorithm>
#include <map>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"

namespace switchyard::compare {
namespace {

bool named_in_stacks(Kind kind) { return kind != Kind::data_loader; }

std::string expected() {
    std::vector<std::string> words;
    for (const auto kind : all_kinds) {
        if (named_in_stacks(kind)) words.push_back(std::string(name(kind)) + "=");
    }
    const auto last = std::move(words.back());
    words.pop_back();
    return "expected " + base::joined(words) + " or " + last + " with a backend";
}

}  // namespace

std::string read_stack(const std::string& text, ArmSpec& arm) {
    std::map<Kind, std::string> backends;
    for (std::size_t start = 0; start <= text.size();) {
        const auto end = std::min(text.find('+', start), text.size());
        const auto part = text.substr(start, end - start);
        const auto equals = part.find('=');
        if (part.empty()) return "a part is empty; " + expected();
        if (equals == std::string::npos && start == 0) {
            for (const auto kind : all_kinds) {
                if (facts_of(kind).measured) backends[kind] = part;
            }
        } else {
            const auto kind = parse<Kind>(part.substr(0, equals));
            if (equals == std::string::npos || !kind || !named_in_stacks(*kind) || equals + 1 == part.size())
                return "'" + base::quoted(part) + "' is none of these: " + expected();
            backends[*kind] = part.substr(equals + 1);
        }
        start = end + 1;
    }
    arm.name = text;
    for (const auto& [kind, backend] : backends)
        arm.overrides.push_back(std::string(name(kind)) + ".backend=" + backend);
    return "";
}

}  // namespace switchyard::compare
