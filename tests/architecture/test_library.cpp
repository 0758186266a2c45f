// What tests write compiles with both versions of Catch2 (<switchyard_test.h>).
#include "rules.h"

#include <fstream>
#include <regex>

namespace switchyard::architecture {

Problems check_test_library(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    static const std::regex of_texts("\\bCatch::(Matchers::)?Contains\\(");
    const fs::path chooses = root / "tests/support/switchyard_test.h";
    Problems problems;
    for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
        const auto& file = entry.path();
        if ((file.extension() != ".cpp" && file.extension() != ".h") || file == chooses) continue;
        std::ifstream stream(file);
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            if (!std::regex_search(line, of_texts)) continue;
            problems.push_back(file.lexically_relative(root).string() + ":" + std::to_string(number) +
                               ": Catch2 3 has no Contains for texts; write switchyard::test::contains");
        }
    }
    return problems;
}

}  // namespace switchyard::architecture
