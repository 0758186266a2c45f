#include "core/workbench/compare/arms/workload.h"

#include <optional>
#include <stdexcept>

#include "core/kernel/base/json_text.h"

namespace switchyard::compare {

std::string Workload::lengths_text() const {
    return lengths.median == 0 && lengths.min == lengths.max ? std::to_string(lengths.max) : lengths.text();
}

std::string Workload::text() const {
    return std::to_string(batch) + " x " + lengths_text() +
           (tokens > 0 ? " + " + std::to_string(tokens) : "");
}

nlohmann::ordered_json to_json(const Workload& workload) {
    return {{"batch", workload.batch}, {"lengths", workload.lengths_text()}, {"tokens", workload.tokens}};
}

Workload read_workload(const nlohmann::ordered_json& json) {
    Workload workload;
    workload.batch = base::needed_integer(json, "batch");
    workload.tokens = base::needed_integer(json, "tokens");
    std::optional<bench::LengthRange> lengths;
    if (const auto error = bench::read_lengths(base::needed_text(json, "lengths"), lengths); !error.empty())
        throw std::runtime_error("\"lengths\": " + error);
    workload.lengths = *lengths;
    if (workload.batch < 1 || workload.tokens < 0 || workload.lengths.min < 1)
        throw std::runtime_error("\"workloads\": expected one sequence of one token at least");
    return workload;
}

}  // namespace switchyard::compare
