#include "core/workbench/cli/infer/quantizing.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/cli/infer/quantized_run.h"
#include "core/workbench/cli/train/run_name.h"

namespace switchyard::cli {

namespace fs = std::filesystem;

const char* score_name(const train::EvalResult& result) {
    if (result.perplexity) return "perplexity";
    return result.accuracy ? "accuracy" : "loss";
}

double score_drop(const train::EvalResult& before, const train::EvalResult& after) {
    if (!std::isfinite(after.loss)) return std::numeric_limits<double>::infinity();
    const std::string_view name = score_name(before);
    if (name == "accuracy" && after.accuracy) return *before.accuracy - *after.accuracy;
    if (name == "perplexity" && after.perplexity) return *after.perplexity / *before.perplexity - 1.0;
    return after.loss / before.loss - 1.0;
}

EvaluationSpeeds evaluation_speeds(LoadedModel& original, LoadedModel& quantized,
                                   const std::shared_ptr<const SampleSource>& samples) {
    using Clock = std::chrono::steady_clock;
    const auto speed = [&](LoadedModel& model) {
        const auto begun = Clock::now();
        model.evaluate(samples, "timing");
        return static_cast<double>(samples->size()) /
               std::chrono::duration<double>(Clock::now() - begun).count();
    };
    constexpr int rounds = 5;
    std::vector<double> before, after;
    for (int round = 0; round <= rounds; ++round) {
        const double first = speed(original), second = speed(quantized);
        if (round == 0) continue;  // in which threads and memory are got
        before.push_back(first);
        after.push_back(second);
    }
    return {bench::median(before), bench::median(after)};
}

Quantizing::Quantizing(Input input, std::string out) : input_(std::move(input)), out_(std::move(out)) {
    const fs::path place = fs::absolute(out_).lexically_normal();
    const auto folder = place.has_filename() ? place : place.parent_path();
    aside_ = (folder.parent_path() / (".writing-" + folder.filename().string())).string();
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    if (error) throw Failure("--out: error: " + out_ + " cannot be made: " + error.message());
}

Quantizing::~Quantizing() {
    std::error_code ignored;
    fs::remove_all(aside_, ignored);
}

QuantizedRun Quantizing::make(const config::QuantizationConfig& how) {
    const auto stop_if_told = [this] {
        if (input_.stop()) throw QuantizingStopped{};
    };
    write_quantized_run(input_.original.session(), how, input_.scales, input_.label_scale, aside_);
    stop_if_told();
    const NamedRun stored{aside_, aside_ + "/model", "", true};
    const JobOptions options{.config = "", .overrides = {}, .trust = input_.trust};
    QuantizedRun made{how, {}, {}, nullptr};
    made.model = std::make_unique<LoadedModel>(job_of_run(stored, options), aside_, true, Restart::refused);
    if (input_.samples != nullptr)
        made.after = made.model->evaluate(input_.samples, "quantized", input_.stop);
    stop_if_told();
    return made;
}

QuantizedRun Quantizing::make_within(double most, const train::EvalResult& before,
                                     const std::vector<std::string>& ranking,
                                     const config::QuantizationConfig& how) {
    const auto without = [&](std::size_t count) {
        const std::vector<std::string> left_out(ranking.begin(),
                                                ranking.begin() + static_cast<std::ptrdiff_t>(count));
        auto fewer = how;
        fewer.skip.insert(fewer.skip.end(), left_out.begin(), left_out.end());
        auto made = make(fewer);
        made.left_out = left_out;
        return made;
    };
    const auto fits = [&](const QuantizedRun& made) { return score_drop(before, *made.after) <= most; };
    auto made = without(0);
    if (fits(made)) return made;
    std::size_t too_few = 0, enough = ranking.size(), last = 0;
    while (too_few + 1 < enough) {
        last = too_few + (enough - too_few) / 2;
        made = without(last);
        (fits(made) ? enough : too_few) = last;
    }
    if (enough == ranking.size())
        throw Failure("--max-drop: error: " + std::string(score_name(before)) +
                      " drops by more with any layer quantized; expected a larger drop, or another --method");
    if (last != enough) made = without(enough);
    return made;
}

void Quantizing::commit() const {
    std::error_code error;
    fs::rename(aside_, out_, error);
    if (error) throw Failure(out_ + ": error: cannot be made: " + error.message(), Exit::run_failed);
}

}  // namespace switchyard::cli
