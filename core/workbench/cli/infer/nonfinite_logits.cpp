#include "core/workbench/cli/infer/nonfinite_logits.h"

#include <optional>
#include <string>

#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/infer/whole_rows.h"
#include "core/workbench/train/nonfinite_trace.h"

namespace switchyard::cli {
namespace {

std::string first_operation(const train::NonfiniteFinding& finding) {
    return "the first operation whose values are not finite is " + finding.text;
}

std::optional<train::NonfiniteFinding> first_finding(const infer::Beginning& row,
                                                     const train::Session& model) {
    train::NonfiniteTrace trace;
    const runtime::ObserveCalls observing(trace);
    infer::WholeRows rows(model.config(), model.plan(), model.model(), model.tokenizer().filling());
    rows.begin({row});
    return trace.first();
}

}  // namespace

Failure nonfinite_failure(const infer::NonfiniteLogits& error,
                          const std::vector<const train::Session*>& models) {
    const auto told = std::string(error.what()) + ", after " + counted(error.tokens().size(), "token");
    for (const auto* model : models) {
        for (const auto& row : error.rows) {
            if (const auto finding = first_finding(row, *model))
                return Failure(told + ": no token can be chosen; " + first_operation(*finding),
                               Exit::numerics);
        }
    }
    return Failure(
        told +
            ": no token can be chosen; no operation shows it where the whole text goes through the "
            "model at once (--no-cache)",
        Exit::numerics);
}

Failure nonfinite_failure(const std::string& told, const std::function<void()>& again) {
    train::NonfiniteTrace trace;
    {
        const runtime::ObserveCalls observing(trace);
        again();
    }
    const auto finding = trace.first();
    return Failure(told + "; " +
                       (finding ? first_operation(*finding)
                                : "no operation shows it where the text goes through the model alone") +
                       nonfinite_advice,
                   Exit::numerics);
}

}  // namespace switchyard::cli
