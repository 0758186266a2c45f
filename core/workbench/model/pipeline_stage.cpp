#include "core/workbench/model/pipeline_stage.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace switchyard::model {
namespace {

// "encoder.3.attention.q.weight" is of layer 3; nullopt: of none.
std::optional<std::int64_t> layer_in(std::string_view rest) {
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') return std::nullopt;
    return layer;
}

}  // namespace

PipelineStage::PipelineStage(const config::Config& config, std::int64_t number)
    : encoder_(config.model.layers_of(config::Stack::encoder)),
      decoder_(config.model.layers_of(config::Stack::decoder)),
      number_(number),
      stages_(config.distributed.stage.parts),
      head_reads_words_(config.model.tie_embeddings && config.task.predicts_tokens()) {}

// Of all layers in a row.
LayerRange PipelineStage::range() const {
    const auto all = encoder_ + decoder_;
    return {all * number_ / stages_, all * (number_ + 1) / stages_};
}

LayerRange PipelineStage::layers(config::Stack stack) const {
    const auto first = stack == config::Stack::encoder ? 0 : encoder_;
    const auto count = stack == config::Stack::encoder ? encoder_ : decoder_;
    const auto all = range();
    return {std::clamp<std::int64_t>(all.begin - first, 0, count),
            std::clamp<std::int64_t>(all.end - first, 0, count)};
}

bool PipelineStage::begins(config::Stack stack) const { return has(stack) && layers(stack).begin == 0; }

bool PipelineStage::ends(config::Stack stack) const {
    return has(stack) && layers(stack).end == (stack == config::Stack::encoder ? encoder_ : decoder_);
}

bool PipelineStage::takes_over(const config::LayerId& layer) const {
    if (layer.index == 0) return false;
    const auto place = layer.index + (layer.stack == config::Stack::encoder ? 0 : encoder_);
    const auto all = encoder_ + decoder_;
    for (std::int64_t stage = 1; stage < stages_; ++stage)
        if (all * stage / stages_ == place) return true;
    return false;
}

bool PipelineStage::has(std::string_view parameter) const {
    if (whole()) return true;
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder}) {
        const auto prefix = std::string(name(stack)) + ".";
        if (!parameter.starts_with(prefix)) continue;
        const auto rest = parameter.substr(prefix.size());
        const auto own = layers(stack);
        if (const auto layer = layer_in(rest)) return *layer >= own.begin && *layer < own.end;
        return rest.starts_with("norm.") ? ends(stack) : !own.empty();
    }
    if (parameter == "embeddings.word") return embeds() || (is_last() && head_reads_words_);
    return parameter.starts_with("embeddings.") ? embeds() : is_last();
}

std::vector<std::int64_t> stages_with(const config::Config& config, std::string_view parameter) {
    std::vector<std::int64_t> stages;
    for (std::int64_t stage = 0; stage < config.distributed.stage.parts; ++stage)
        if (PipelineStage(config, stage).has(parameter)) stages.push_back(stage);
    return stages;
}

}  // namespace switchyard::model
