// Texts that are gathered from lines. To add a case: the lines, and the texts or the problem that come of
// them.
#include <fstream>

#include "core/kernel/base/limits.h"
#include "core/workbench/data/documents.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Gathered {
    std::vector<std::size_t> sizes;
    std::vector<std::string> problems;
};

Gathered gathered(const std::string& path) {
    Gathered result;
    data::RowRequest request;
    request.path = path;
    request.columns = {"text"};
    request.on_row = [&](data::Row& row) { return result.sizes.push_back(row.values[0].size()), true; };
    request.on_problem = [&](const data::RowProblem& problem) {
        return result.problems.push_back(std::to_string(problem.line) + ":" + problem.message), true;
    };
    CHECK(data::read_documents(request, config::Documents::paragraphs).error.empty());
    return result;
}

}  // namespace

TEST_CASE("a text of many lines is read up to the limit of a file, and what follows it is read again") {
    const auto path = (test::temporary_dir("documents") / "a.txt").string();
    const std::size_t line = std::size_t{8} << 20, most = base::limits::file_bytes;
    REQUIRE(most % line == 0);
    for (const std::size_t more : {0U, 1U}) {
        {
            std::ofstream file(path, std::ios::binary);
            const std::string full(line - 1, 'x');
            for (std::size_t bytes = line; bytes < most; bytes += line) file << full << '\n';
            file << std::string(line + more, 'y') << "\n\nthe next\n";
        }
        const auto result = gathered(path);
        if (more == 0) {
            CHECK(result.sizes == std::vector<std::size_t>{most, 8});
            CHECK(result.problems.empty());
        } else {
            CHECK(result.sizes == std::vector<std::size_t>{8});
            CHECK(result.problems == std::vector<std::string>{"1:begins a text that is longer than " +
                                                              std::to_string(most) + " bytes"});
        }
    }
    std::filesystem::remove(path);
}
