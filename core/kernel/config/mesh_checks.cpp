#include "core/kernel/config/mesh_checks.h"

#include <cstdint>

#include "core/kernel/config/trainable.h"

namespace switchyard::config {
namespace {

const std::string tensor_key = "distributed.mesh.tensor";
const std::string pipeline_key = "distributed.mesh.pipeline";

void check_division(const Config& config, std::vector<Mistake>& mistakes) {
    const auto parts = config.mesh.tensor;
    const auto divides = [&](std::int64_t value, const std::string& key, const std::string& what) {
        if (value % parts == 0) return;
        mistakes.push_back({{tensor_key, key},
                            std::to_string(value) + " " + what + " (" + key + ") cannot be divided by " +
                                std::to_string(parts) + " ranks",
                            "a divisor of " + std::to_string(value)});
    };
    const auto& model = config.model;
    divides(model.heads, "model.heads", "heads");
    if (model.kv_heads != model.heads) divides(model.kv_heads, "model.kv_heads", "heads of keys and values");
    divides(model.intermediate_size, "model.intermediate_size", "values of a feed-forward");
}

void check_shard(const Config& config, std::vector<Mistake>& mistakes) {
    if (config.distributed.shard != Sharding::full) return;
    if (config.mesh.pipeline > 1)
        mistakes.push_back({{"distributed.shard", pipeline_key},
                            "a range of layers is there as long as batches pass through it",
                            "\"optimizer\", \"none\", or " + pipeline_key + " = 1"});
    if (config.mesh.tensor > 1 && config.lora.rank > 0)
        mistakes.push_back({{"distributed.shard", tensor_key},
                            "adapters ([lora]) of layers of which ranks have parts are not divided once more",
                            "\"optimizer\", \"none\", or " + tensor_key + " = 1"});
}

void check_pipeline(const Config& config, std::vector<Mistake>& mistakes) {
    const auto stages = config.mesh.pipeline;
    const auto layers = config.model.layers_of(Stack::encoder) + config.model.layers_of(Stack::decoder);
    if (stages > layers)
        mistakes.push_back({{pipeline_key, "model.layers"},
                            std::to_string(layers) + " layers cannot be given to " + std::to_string(stages) +
                                " ranks, each of which needs one",
                            "at most " + std::to_string(layers)});
    if (config.train.cuda_graph)
        mistakes.push_back({{"train.cuda_graph", pipeline_key},
                            "steps of several ranks are not captured",
                            "false, or " + pipeline_key + " = 1"});
}

}  // namespace

std::vector<Mistake> mesh_mistakes(const Config& config) {
    std::vector<Mistake> mistakes;
    check_shard(config, mistakes);
    if (config.mesh.pipeline > 1) check_pipeline(config, mistakes);
    if (config.mesh.tensor == 1 && config.distributed.sequence_parallel)
        mistakes.push_back({{"distributed.sequence_parallel", tensor_key},
                            "tokens are divided over ranks that have a part of each layer, and layers are "
                            "whole here",
                            "false, or " + tensor_key + " above 1"});
    if (config.mesh.tensor == 1) return mistakes;
    check_division(config, mistakes);
    return mistakes;
}

std::string mesh_problem(const Config& config, std::int64_t ranks) {
    const auto& mesh = config.mesh;
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    const auto there_are =
        ", and there " + std::string(ranks == 1 ? "is 1 rank" : "are " + number(ranks) + " ranks");
    const auto layers = mesh.tensor * mesh.pipeline;
    if (mesh.data == 0) {
        if (ranks % layers == 0) return "";
        return told_at(config, mesh.tensor > 1 ? tensor_key : pipeline_key) + "each " + number(layers) +
               " ranks have a model together" + there_are + "; expected a multiple of " + number(layers) +
               " ranks, as with `switchyard launch -n " + number(layers) + "`";
    }
    const auto all = mesh.data * layers;
    if (all == ranks) return "";
    return told_at(config, "distributed.mesh.data") + number(mesh.data) + " (data) x " + number(mesh.tensor) +
           " (tensor) x " + number(mesh.pipeline) + " (pipeline) are " + number(all) + there_are +
           "; expected the same number, as with `switchyard launch -n " + number(all) + "`";
}

bool cuts_words(const Config& config) {
    const auto parts = config.distributed.part.parts;
    return parts > 1 && config.model.vocab_size % parts == 0 && !config.loss.projection &&
           config.loss.custom.empty();
}

}  // namespace switchyard::config
