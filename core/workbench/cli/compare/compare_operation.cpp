#include "core/workbench/cli/compare/compare_operation.h"

#include "core/kernel/base/printable.h"

namespace switchyard::cli {

std::string operation_problem(const std::string& text) {
    const auto known = parse<compare::Operation>(text);
    return known ? "" : base::quoted(text) + "; expected step, epoch, forward, data or generate";
}

std::string passes_text(compare::Operation operation, std::int64_t samples, bool own_data) {
    const std::string what = operation == compare::Operation::forward ? "forwards only, "
                             : operation == compare::Operation::data  ? "the data loader only, "
                                                                      : "epochs of training, ";
    return what + std::to_string(samples) + (own_data ? " samples at most a pass, " : " samples a pass, ");
}

}  // namespace switchyard::cli
