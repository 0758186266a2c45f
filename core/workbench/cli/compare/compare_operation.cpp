#include "core/workbench/cli/compare/compare_operation.h"

#include "core/kernel/base/printable.h"

namespace switchyard::cli {

std::string operation_problem(const std::string& text) {
    const auto known = parse<compare::Operation>(text);
    const std::string expected = "expected step, epoch, forward or data";
    if (!known) return base::quoted(text) + "; " + expected;
    if (*known != compare::Operation::generate) return "";
    return "`switchyard bench inference` compares how fast models generate; " + expected;
}

std::string passes_text(compare::Operation operation, std::int64_t samples, bool own_data) {
    const std::string what = operation == compare::Operation::forward ? "forwards only, "
                             : operation == compare::Operation::data  ? "the data loader only, "
                                                                      : "epochs of training, ";
    return what + std::to_string(samples) + (own_data ? " samples at most a pass, " : " samples a pass, ");
}

}  // namespace switchyard::cli
