#include "core/workbench/train/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/dropout.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/train/evaluate.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::train {
namespace {

// What a rank tells of its part of a step, as numbers: these, the work by unit, the sequences of each
// micro-batch.
struct StepPart {
    enum Place : std::size_t { stop, save_is_due, labels, samples, tokens, work };
};
constexpr std::size_t sequences_begin = StepPart::work + model::unit_count;

std::vector<double> numbers_of(const at::Tensor& tensor) {
    const auto* const begin = tensor.const_data_ptr<double>();
    return {begin, begin + tensor.numel()};
}

distributed::SumOptions options_of(const config::Config& config) {
    return {config.distributed.bucket_mb, config.distributed.compression == config::Compression::bfloat16};
}

// Each parameter is held against that of the first rank that has the same part of it: by the sum over its
// values, of which ranks whose weights differ have others.
void check_parameters(const distributed::Mesh& mesh, const config::Config& config,
                      const model::Parameters& parameters) {
    constexpr double absent = -1.0;
    const auto names = model::describe_names(config).parameters;
    const auto count = static_cast<std::int64_t>(names.size());
    // Of each parameter of the model: the sum, and in how many parts ranks have it.
    auto own = at::full({2, count}, absent, at::kDouble);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto* const parameter = parameters.find(names[static_cast<std::size_t>(i)].name);
        if (parameter == nullptr) continue;
        own.select(0, 0).select(0, i).fill_(parameter->value.detach().to(at::kDouble).abs().sum());
        own.select(0, 1).select(0, i).fill_(static_cast<double>(parameter->cut.part.parts));
    }
    const auto all = mesh.world().gather(own);
    std::vector<const double*> told;
    for (const auto& one : all) told.push_back(one.const_data_ptr<double>());
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::map<std::int64_t, std::size_t> first;  // rank, by part
        for (std::size_t rank = 0; rank < told.size(); ++rank) {
            if (told[rank][i] == absent) continue;
            const auto parts = static_cast<std::int64_t>(told[rank][names.size() + i]);
            const auto [found, is_first] = first.emplace(static_cast<std::int64_t>(rank) % parts, rank);
            if (is_first || same(told[rank][i], told[found->second][i])) continue;
            throw base::InputError("error: ranks " + std::to_string(found->second) + " and " +
                                   std::to_string(rank) + " begin with other values of " + names[i].name +
                                   ": they must read the same weights");
        }
    }
}

}  // namespace

std::vector<std::string> rank_problems(const config::Config& config) {
    std::vector<std::string> problems;
    const auto refuse = [&](bool bad, const char* key, const std::string& what) {
        if (bad) problems.push_back(config::told_at(config, key) + what);
    };
    refuse(config.train.cuda_graph, "train.cuda_graph",
           "steps of several ranks are not captured; expected false");
    const bool full = config.distributed.shard == config::Sharding::full;
    refuse(full && config.train.ema > 0.0, "train.ema",
           "with distributed.shard = \"full\" no rank has all weights, and there is no average of them; "
           "expected 0");
    return problems;
}

void ignore_last(Batch& batch, std::int64_t samples, std::int64_t ignore_index) {
    if (samples <= 0) return;
    auto first = static_cast<std::int64_t>(batch.samples.size());  // sequence that is ignored
    for (std::int64_t ignored = 0; first > 0; --first) {
        const auto place = static_cast<std::size_t>(first);
        const bool begins = place == batch.samples.size() || batch.samples[place] != batch.samples[place - 1];
        if (begins && ++ignored > samples) break;
    }
    const auto ignore = [&](at::Tensor& labels, const at::Scalar& value) {
        if (!labels.defined()) return;
        labels = labels.clone();
        const auto& side = batch.target.ids.defined() ? batch.target : batch.source;
        const bool of_tokens =
            labels.dim() == 1 && side.tokens.layout == Layout::packed && labels.size(0) == side.ids.size(0);
        const auto begin =
            of_tokens ? side.tokens.cu_seqlens.select(0, first).item().to<std::int64_t>() : first;
        labels.narrow(0, begin, labels.size(0) - begin).fill_(value);
    };
    ignore(batch.labels, ignore_index);
    ignore(batch.float_labels, std::numeric_limits<float>::quiet_NaN());
}

std::vector<std::string> gather_texts(distributed::Group& group, const std::string& text) {
    auto length = at::zeros({1}, at::kLong);
    length.fill_(static_cast<std::int64_t>(text.size()));
    const auto lengths = group.gather(length);
    std::int64_t longest = 1;
    for (const auto& one : lengths) longest = std::max(longest, one.item<std::int64_t>());
    auto bytes = at::zeros({longest}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
    std::vector<std::string> texts;
    const auto all = group.gather(bytes);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        texts.emplace_back(static_cast<const char*>(all[rank].const_data_ptr()),
                           static_cast<std::size_t>(lengths[rank].item<std::int64_t>()));
    return texts;
}

DataParallel::DataParallel(distributed::Mesh& mesh, const config::Config& config,
                           const model::Parameters& parameters)
    : mesh_(mesh), config_(config) {
    check_parameters(mesh, config, parameters);
    if (config.distributed.shard == config::Sharding::full || mesh.data() == nullptr) return;
    std::vector<distributed::SummedParameter> summed;
    for (const auto& parameter : parameters.all())
        if (parameter.value.requires_grad()) summed.push_back({parameter.name, parameter.value});
    if (!summed.empty()) gradients_ = mesh.data()->sum_gradients(summed, options_of(config));
}

double DataParallel::lr_factor() const {
    const auto ranks = static_cast<double>(mesh_.data_ranks());
    switch (config_.distributed.lr_scaling) {
        case config::LrScaling::linear:
            return ranks;
        case config::LrScaling::square_root:
            return std::sqrt(ranks);
        default:
            return 1.0;
    }
}

std::uint64_t DataParallel::seed_of_step(std::int64_t step) const {
    return site_seed(static_cast<std::uint64_t>(config_.run.seed), static_cast<std::uint64_t>(step),
                     0x80000000U + static_cast<std::uint32_t>(mesh_.stage() * mesh_.data_ranks() +
                                                              mesh_.data_index()));  // sites count from 0
}

std::optional<SharedStep> DataParallel::agree(const Own& own) {
    const auto& batches = own.batches;
    const auto ignored = config_.loss.ignore_index;
    std::vector<double> told(sequences_begin +
                             static_cast<std::size_t>(config_.train.grad_accumulation_steps));
    told[StepPart::stop] = own.stop ? 1.0 : 0.0;
    told[StepPart::save_is_due] = own.save_is_due ? 1.0 : 0.0;
    told[StepPart::labels] = static_cast<double>(labels_of(batches, ignored));
    const auto amounts = amounts_of(batches, ignored);
    told[StepPart::samples] = static_cast<double>(amounts.samples - own.repeated);
    told[StepPart::tokens] = static_cast<double>(amounts.tokens);
    std::ranges::copy(amounts.work.amounts, told.begin() + StepPart::work);
    for (std::size_t i = 0; i < batches.size(); ++i)
        told[sequences_begin + i] = static_cast<double>(sequences_of(batches[i]));

    SharedStep step;
    step.first_documents.resize(batches.size());
    std::vector<std::vector<double>> all;
    const auto gathered = mesh_.world().gather(at::tensor(told, at::kDouble));
    for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
        auto numbers = numbers_of(gathered[rank]);
        if (numbers[StepPart::stop] != 0.0) return std::nullopt;
        if (mesh_.speaks_for_batches(static_cast<std::int64_t>(rank))) all.push_back(std::move(numbers));
    }
    for (const auto& one : all) {
        step.labels += static_cast<std::int64_t>(one[StepPart::labels]);
        step.samples += static_cast<std::int64_t>(one[StepPart::samples]);
        step.tokens += static_cast<std::int64_t>(one[StepPart::tokens]);
        for (std::size_t unit = 0; unit < model::unit_count; ++unit)
            step.work.amounts[unit] += one[StepPart::work + unit];
    }
    step.save_is_due = all.front()[StepPart::save_is_due] != 0.0;
    std::int64_t document = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            if (static_cast<std::int64_t>(rank) == mesh_.data_index()) step.first_documents[i] = document;
            document += static_cast<std::int64_t>(all[rank][sequences_begin + i]);
        }
    }
    return step;
}

void DataParallel::backward(const Backward& run, bool last) {
    if (!last || gradients_ == nullptr) return run();
    gradients_->begin();
    try {
        run();
    } catch (const std::exception& error) {
        if (gradients_->failed()) throw distributed::RankLost(error.what());
        throw;
    }
    gradients_->end();
    if (const auto trace = gradients_->trace()) communication_.add(*trace);
}

double DataParallel::sum(double value) {
    const bool counts = mesh_.speaks_for_batches(mesh_.world().rank());
    auto tensor = at::zeros({1}, at::kDouble).fill_(counts ? value : 0.0);
    mesh_.world().sum(tensor);
    return tensor.item<double>();
}

std::string DataParallel::from_first(const std::string& what, const std::string& said) {
    const auto meeting = what + " " + std::to_string(++meetings_);
    auto& world = mesh_.world();
    return distributed::meet(world.store(), world.place(), meeting, said, long_wait_seconds).front();
}

}  // namespace switchyard::train
