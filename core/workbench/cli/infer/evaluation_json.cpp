#include "core/workbench/cli/infer/evaluation_json.h"

#include <nlohmann/json.hpp>

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

// With more classes it would be more than a reader of JSON takes (core/kernel/base/limits.h).
constexpr std::size_t written_classes = 1000;

ordered_json confusion_json(const score::ConfusionMatrix& confusion) {
    const auto classes = confusion.labels().size();
    auto counts = ordered_json::array();
    for (std::size_t right = 0; right < classes; ++right) {
        auto row = ordered_json::array();
        for (std::size_t told = 0; told < classes; ++told) row.push_back(confusion.count(right, told));
        counts.push_back(std::move(row));
    }
    return {{"labels", confusion.labels()}, {"counts", std::move(counts)}};
}

// As the model saw it: cut where the sample is.
std::string text_of(const Sample& sample, const data::Tokenizer& tokenizer) {
    return tokenizer.decode({sample.ids.begin(), sample.ids.end()});
}

}  // namespace

ordered_json evaluation_json(const train::EvalResult& result, const SampleSource& samples,
                             const data::Tokenizer& tokenizer) {
    ordered_json eval{{"loss", result.loss}, {"labels", result.labels}};
    if (result.accuracy) eval["accuracy"] = *result.accuracy;
    if (result.perplexity) eval["perplexity"] = *result.perplexity;
    for (const auto& [name, value] : result.metrics) eval["metrics"][name] = value;
    const auto& confusion = result.confusion;
    if (confusion && confusion->labels().size() <= written_classes)
        eval["confusion"] = confusion_json(*confusion);
    for (const auto& worst : result.worst) {
        eval["worst"].push_back({{"loss", worst.loss},
                                 {"label", worst.label},
                                 {"predicted", worst.predicted},
                                 {"text", text_of(samples.get(worst.sample, 0), tokenizer)}});
    }
    return eval;
}

ordered_json rows_json(const data::RowCounts& rows) {
    return {{"read", rows.read},
            {"used", rows.used},
            {"truncated", rows.truncated},
            {"split", rows.split},
            {"skipped", rows.skipped},
            {"empty", rows.empty},
            {"invalid_utf8", rows.invalid_utf8},
            {"with_nul", rows.with_nul}};
}

}  // namespace switchyard::cli
