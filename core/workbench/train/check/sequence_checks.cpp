#include "core/workbench/train/check/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <ATen/core/grad_mode.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/data/sample_list.h"

namespace switchyard::train {
namespace {

using Ids = std::vector<std::int64_t>;

// Tokens of real samples, `count` of them from either side.
Ids some_tokens(const SampleSource& source, Ids Sample::*side, std::int64_t count) {
    Ids tokens;
    for (std::int64_t i = 0; static_cast<std::int64_t>(tokens.size()) < count; ++i) {
        const auto sample = source.get(i % source.size(), 0);
        const auto& here = sample.*side;
        if (here.empty()) return {};
        tokens.insert(tokens.end(), here.begin(), here.end());
    }
    return tokens;
}

// Sequences of the given lengths, made of the tokens of real ones.
std::shared_ptr<const SampleSource> samples_of(const CheckBench& bench, const Ids& lengths) {
    const auto& source = *bench.session.data().train;
    const auto tokens = some_tokens(source, &Sample::ids, lengths.back() * 2);
    const auto targets = some_tokens(source, &Sample::target_ids, lengths.back() * 2);
    auto samples = std::make_shared<data::SampleList>();
    for (const auto length : lengths) {
        const auto part = [&](const Ids& whole) {
            return whole.empty() ? Ids()
                                 : Ids(whole.begin() + length / 2, whole.begin() + length / 2 + length);
        };
        samples->add({part(tokens), {}, part(targets), {}, {}});
    }
    return samples;
}

// What the model makes of each sequence of a batch: logits of classes, or the hidden states that words are
// told from.
std::vector<at::Tensor> outputs_of_batch(CheckBench& bench, const Batch& batch) {
    model::ForwardContext context;
    context.phase = Phase::eval;
    const auto& session = bench.session;
    const auto& side = session.model().output_side(batch);
    const bool words = session.config().task.label_per_token();
    const auto all = words ? session.model().hidden(context, batch) : session.model().logits(context, batch);
    std::vector<at::Tensor> outputs;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(batch.samples.size()); ++i) {
        if (!words) {
            outputs.push_back(all[i]);
        } else if (side.tokens.layout == Layout::packed) {
            const auto begin = side.tokens.cu_seqlens[i].item<std::int64_t>();
            outputs.push_back(
                all.narrow(0, begin, side.tokens.cu_seqlens[i + 1].item<std::int64_t>() - begin));
        } else {
            const auto& lengths = side.tokens.lengths;
            outputs.push_back(
                all[i].narrow(0, 0, lengths.defined() ? lengths[i].item<std::int64_t>() : all.size(1)));
        }
    }
    return outputs;
}

std::vector<at::Tensor> outputs_of(CheckBench& bench, std::shared_ptr<const SampleSource> samples) {
    std::vector<at::Tensor> rows(static_cast<std::size_t>(samples->size()));
    const auto& loader = bench.session.start_eval_loader(std::move(samples));
    Batch batch;
    while (loader.next(batch)) {
        const auto outputs = outputs_of_batch(bench, batch);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            rows[static_cast<std::size_t>(batch.samples[i])] = outputs[i].to(at::kDouble);
    }
    return rows;
}

}  // namespace

Diagnosis check_lengths(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"lengths 1, 2, odd and maximal work", Health::good, "", ""};
    const auto& config = bench.session.config();
    std::set<std::int64_t> wanted{1, 2, 7, config.batch.max_length - 1, config.batch.max_length};
    Ids lengths;
    for (const auto length : wanted) {
        if (length >= config.batch.min_length && length <= config.batch.max_length) lengths.push_back(length);
    }
    const auto all = samples_of(bench, lengths);
    const auto together = outputs_of(bench, all);
    double worst = 0.0, size = 1e-12;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto one = std::make_shared<data::SampleList>();
        one->add(all->get(static_cast<std::int64_t>(i), 0));
        const auto alone = outputs_of(bench, one).front();
        worst = std::max(worst, alone.sub(together[i]).abs().max().item<double>());
        size = std::max(size, alone.abs().max().item<double>());
    }
    const bool words = config.task.label_per_token();
    std::ostringstream text;
    text << "alone and beside longer ones, the " << (words ? "hidden states" : "logits") << " of "
         << lengths.size() << " lengths differ by at most " << worst / size << " of their size";
    result.finding = text.str();
    const auto first = config::to_string(config.layer_ids().front());
    const bool low = config.precision.compute_dtype.value_or(DType::float32) != DType::float32 ||
                     bench.session.plan().precision().compute(OpClass::linear, first) != DType::float32;
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
    for (const auto& batch : bench.batches) bench.session.model().hidden(context, batch);
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
