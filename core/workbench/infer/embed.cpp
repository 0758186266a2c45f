#include "core/workbench/infer/embed.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/grad_mode.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/collate.h>
#include "core/kernel/runtime/operations/move_batch.h"

namespace switchyard::infer {
namespace {

class Embedder {
public:
    Embedder(const config::Config& config, const model::Model& model, const data::Tokenizer& tokenizer,
             const EmbedOptions& options)
        : model_(model), options_(options), device_(to_device_type(config.run.device)) {
        params_.max_length = config.batch.max_length;
        params_.pad_id = tokenizer.filling();
        params_.pad_multiple = config.batch.pad_multiple;
        params_.layout = config.batch.planned_layout();
    }

    // Of those samples, into the place of each.
    void embed(const std::vector<Sample>& samples, const std::vector<std::size_t>& which,
               std::vector<Embedding>& results) const {
        std::vector<Sample> batch_samples;
        std::vector<std::int64_t> indices;
        for (const auto index : which) {
            indices.push_back(static_cast<std::int64_t>(batch_samples.size()));
            batch_samples.push_back(samples[index]);
        }
        auto batch = reference::collate(batch_samples, indices, params_, true);
        if (device_ != c10::DeviceType::CPU) runtime::move_batch(batch, device_);
        model::ForwardContext context;
        context.phase = Phase::eval;
        const auto hidden = model_.hidden(context, batch);
        const bool packed = params_.layout == Layout::packed;
        std::int64_t before = 0;
        for (std::size_t i = 0; i < which.size(); ++i) {
            const auto length = static_cast<std::int64_t>(batch_samples[i].ids.size());
            const auto tokens = packed ? hidden.narrow(0, before, length)
                                       : hidden.select(0, static_cast<std::int64_t>(i)).narrow(0, 0, length);
            before += length;
            auto& result = results[which[i]];
            result.values = pooled(tokens);
            result.tokens = length;
        }
    }

private:
    // tokens: [length, hidden_size]
    std::vector<float> pooled(const at::Tensor& tokens) const {
        auto vector = options_.pooling == Pooling::mean ? tokens.to(at::kDouble).mean(0)
                                                        : tokens.select(0, 0).to(at::kDouble);
        if (options_.normalize) vector = vector.div(vector.norm().clamp_min(1e-12));
        const auto values = vector.to(at::kCPU, at::kFloat).contiguous();
        const auto* const first = values.const_data_ptr<float>();
        return {first, first + values.size(0)};
    }

    const model::Model& model_;
    EmbedOptions options_;
    c10::DeviceType device_;
    LoaderParams params_;
};

}  // namespace

std::string embed_problem(const config::Config& config) {
    if (config.model.type == config::ModelType::bert) return "";
    return "model.type: a " + std::string(name(config.model.type)) +
           " does not embed texts; expected an encoder, bert";
}

std::string text_problem(const data::Tokenizer& tokenizer, const std::string& text) {
    if (auto fault = tokenizer.problem_in(text); !fault.empty()) return "the text " + fault;
    return tokenizer.encode_with_specials(text, 0).empty() ? "the text has no token" : "";
}

std::vector<Embedding> embed(const config::Config& config, const model::BoundPlan& plan,
                             const model::Model& model, const data::Tokenizer& tokenizer,
                             const std::vector<std::string>& texts, const EmbedOptions& options,
                             const std::function<void()>& before) {
    const at::NoGradGuard no_grad;
    std::vector<Sample> samples(texts.size());
    std::vector<Embedding> results(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        samples[i].ids = tokenizer.encode_with_specials(texts[i], config.batch.max_length, &results[i].cut);
        samples[i].labels.assign(samples[i].ids.size(), 0);
    }
    std::vector<std::size_t> order(texts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return samples[i].ids.size(); });
    const Embedder embedder(config, model, tokenizer, options);
    plan.precision().begin_step();
    const auto batch = static_cast<std::size_t>(config.batch.size);
    for (std::size_t first = 0; first < order.size(); first += batch) {
        if (before) before();
        const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(first + batch, order.size()));
        embedder.embed(samples, {order.begin() + static_cast<std::ptrdiff_t>(first), last}, results);
    }
    plan.precision().end_step();
    return results;
}

}  // namespace switchyard::infer
