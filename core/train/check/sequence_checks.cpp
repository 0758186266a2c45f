#include <switchyard/train/check/diagnosis.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <ATen/core/grad_mode.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::train {
namespace {

// Sequences of the given lengths, made of the pieces of real ones.
data::ClassificationData samples_of(const CheckBench& bench, const std::vector<std::int64_t>& lengths) {
    const auto& source = *bench.session.data().train;
    std::vector<std::int64_t> pieces;
    for (std::int64_t i = 0; static_cast<std::int64_t>(pieces.size()) < lengths.back() * 2; ++i) {
        const auto sample = source.get(i % source.size(), 0);
        pieces.insert(pieces.end(), sample.ids.begin(), sample.ids.end());
    }
    data::ClassificationData samples;
    for (const auto length : lengths) {
        const auto start = pieces.begin() + length / 2;
        samples.add({start, start + length}, {}, 0);
    }
    return samples;
}

std::vector<at::Tensor> logits_of(CheckBench& bench, const data::ClassificationData& samples) {
    model::ForwardContext context;
    context.phase = Phase::eval;
    std::vector<at::Tensor> rows(static_cast<std::size_t>(samples.size()));
    const auto& loader = bench.session.start_eval_loader(samples);
    Batch batch;
    while (loader.next(batch)) {
        const auto logits =
            bench.session.model().logits(bench.session.plan(), context, batch).to(at::kDouble);
        for (std::size_t i = 0; i < batch.samples.size(); ++i)
            rows[static_cast<std::size_t>(batch.samples[i])] = logits[static_cast<std::int64_t>(i)];
    }
    return rows;
}

}  // namespace

Diagnosis check_lengths(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"lengths 1, 2, odd and maximal work", Health::good, "", ""};
    const auto& config = bench.session.config();
    std::set<std::int64_t> wanted{1, 2, 7, config.batch.max_length - 1, config.batch.max_length};
    std::vector<std::int64_t> lengths;
    for (const auto length : wanted) {
        if (length >= config.batch.min_length && length <= config.batch.max_length) lengths.push_back(length);
    }
    const auto together = logits_of(bench, samples_of(bench, lengths));
    double worst = 0.0, size = 1e-12;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        data::ClassificationData one;
        const auto all = samples_of(bench, lengths);
        one.add(all.get(static_cast<std::int64_t>(i)).ids, {}, 0);
        const auto alone = logits_of(bench, one).front();
        worst = std::max(worst, alone.sub(together[i]).abs().max().item<double>());
        size = std::max(size, alone.abs().max().item<double>());
    }
    std::ostringstream text;
    text << "alone and beside longer ones, the logits of " << lengths.size() << " lengths differ by at most "
         << worst / size << " of their size";
    result.finding = text.str();
    const bool low = config.precision.compute_dtype.value_or(DType::float32) != DType::float32 ||
                     bench.session.plan().precision().compute(OpClass::linear, "encoder.0") != DType::float32;
    if (!(worst / size <= (low ? 0.1 : 1e-3))) {
        result.health = Health::bad;
        result.advice =
            "padding changes the result: check key lengths in the data loader, and the attention backend "
            "with `switchyard plugins verify`";
    }
    return result;
}

Diagnosis check_finite_activations(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"no NaN or Inf in activations", Health::good, "", ""};
    double largest = 0.0;
    std::string where;
    std::string first_bad;
    const model::Observer observer = [&](const std::string& place, const at::Tensor& value) {
        const double here = value.to(at::kDouble).abs().max().item<double>();
        if (first_bad.empty() && !std::isfinite(here)) first_bad = place;
        if (here > largest) largest = here, where = place;
    };
    model::ForwardContext context;
    context.phase = Phase::train;
    context.observer = &observer;
    for (const auto& batch : bench.batches)
        bench.session.model().hidden(bench.session.plan(), context, batch);
    std::ostringstream text;
    text << "the largest value is " << largest << ", after " << where;
    result.finding = text.str();
    if (!first_bad.empty()) {
        result.health = Health::bad;
        result.finding = "the first value that is not finite comes from " + first_bad;
        result.advice =
            "try precision.backend = \"fp32\"; if it stays, check that layer's backends with `switchyard "
            "plugins verify`";
    }
    return result;
}

}  // namespace switchyard::train
