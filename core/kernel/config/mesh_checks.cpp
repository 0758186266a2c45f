#include "core/kernel/config/mesh_checks.h"

#include <cstdint>

#include "core/kernel/config/trainable.h"

namespace switchyard::config {
namespace {

const std::string tensor_key = "distributed.mesh.tensor";

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

}  // namespace

std::vector<Mistake> mesh_mistakes(const Config& config) {
    std::vector<Mistake> mistakes;
    if (config.mesh.pipeline != 1)
        mistakes.push_back(
            {{"distributed.mesh.pipeline"}, "layers are not yet given to ranks by ranges", "1"});
    if (config.mesh.tensor == 1) return mistakes;
    check_division(config, mistakes);
    const auto refuse = [&](bool bad, const std::string& key, const std::string& message,
                            const std::string& expected) {
        if (bad) mistakes.push_back({{key, tensor_key}, message, expected + ", or " + tensor_key + " = 1"});
    };
    refuse(config.distributed.shard != Sharding::none, "distributed.shard",
           "layers of which ranks have parts are not divided once more", "\"none\"");
    refuse(config.lora.rank > 0, "lora.rank", "layers of which ranks have parts get no adapters", "0");
    const auto algorithm = config.optimizer.algorithm;
    const bool of_matrices = algorithm == OptimizerKind::lamb || algorithm == OptimizerKind::muon;
    refuse(of_matrices, "optimizer.algorithm",
           std::string(name(algorithm)) + " steps whole matrices, of which ranks have parts here",
           "adamw, adam, sgd or lion");
    refuse(config.train.eval_answers > 0, "train.eval_answers",
           "models of which ranks have parts do not generate", "0");
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
        return told_at(config, tensor_key) + "each " + number(layers) + " ranks have a model together" +
               there_are + "; expected a multiple of " + number(layers) +
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
    return parts > 1 && config.model.vocab_size % parts == 0 && !config.loss.projection;
}

}  // namespace switchyard::config
