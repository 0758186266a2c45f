// Which layers, embeddings and parameters a stage of a pipeline has.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/model/outline.h"
#include "core/workbench/model/pipeline_stage.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::Stack;
using model::PipelineStage;
using model::stages_with;

namespace {

config::Config config_of(config::ModelType type, config::TaskKind task, std::int64_t layers,
                         std::int64_t stages) {
    config::Config config;
    config.model.type = type;
    config.model.layers = config.model.decoder_layers = layers;
    config.model.hidden_size = 8;
    config.model.heads = config.model.kv_heads = 2;
    config.model.head_dim = 4;
    config.model.intermediate_size = 16;
    config.model.vocab_size = 30;
    config.model.max_positions = 16;
    config.model.positions =
        type == config::ModelType::t5 ? config::Positions::t5 : config::Positions::learned;
    config.model.norm_position =
        type == config::ModelType::bert ? config::NormPosition::post : config::NormPosition::pre;
    config.model.tie_embeddings = true;
    config.task.kind = task;
    config.task.labels = {"a", "b"};
    config.batch.size = 2;
    config.batch.max_length = 16;
    config.run.phases = {Phase::train};
    config.distributed.stage = {0, stages};
    return config;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::int64_t values_in(const std::vector<model::ModelPart>& parts) {
    std::int64_t values = 0;
    for (const auto& part : parts) values += part.parameters;
    return values;
}

}  // namespace

TEST_CASE("layers are given to stages in a row, the encoder's first, as equally as can be") {
    const auto ranges = [](const config::Config& config, Stack stack) {
        Ranges all;
        for (std::int64_t stage = 0; stage < config.distributed.stage.parts; ++stage) {
            const auto [begin, end] = PipelineStage(config, stage).layers(stack);
            all.emplace_back(begin, end);
        }
        return all;
    };
    const auto gpt = config_of(config::ModelType::gpt, config::TaskKind::causal_lm, 5, 3);
    CHECK(ranges(gpt, Stack::decoder) == Ranges{{0, 1}, {1, 3}, {3, 5}});
    CHECK_FALSE(PipelineStage(gpt, 0).has(Stack::encoder));
    const auto t5 = config_of(config::ModelType::t5, config::TaskKind::seq2seq, 3, 4);
    CHECK(ranges(t5, Stack::encoder) == Ranges{{0, 1}, {1, 3}, {3, 3}, {3, 3}});
    CHECK(ranges(t5, Stack::decoder) == Ranges{{0, 0}, {0, 0}, {0, 1}, {1, 3}});
    CHECK(PipelineStage(t5, 1).ends(Stack::encoder));
    CHECK(PipelineStage(t5, 2).begins(Stack::decoder));
    CHECK(PipelineStage(t5, 2).embeds());
    CHECK_FALSE(PipelineStage(t5, 3).embeds());
    CHECK(PipelineStage(t5, 0).takes_over({Stack::encoder, 1}));
    CHECK_FALSE(PipelineStage(t5, 0).takes_over({Stack::decoder, 0}));
    CHECK(PipelineStage(t5, 0).takes_over({Stack::decoder, 1}));
}

TEST_CASE("a stage has what its layers need, and several what they share") {
    const auto gpt = config_of(config::ModelType::gpt, config::TaskKind::causal_lm, 4, 4);
    using Stages = std::vector<std::int64_t>;
    CHECK(stages_with(gpt, "embeddings.word") == Stages{0, 3});
    CHECK(stages_with(gpt, "embeddings.position") == Stages{0});
    CHECK(stages_with(gpt, "decoder.2.attention.q.weight") == Stages{2});
    CHECK(stages_with(gpt, "decoder.norm.weight") == Stages{3});
    const auto bert = config_of(config::ModelType::bert, config::TaskKind::classification, 4, 2);
    CHECK(stages_with(bert, "embeddings.word") == Stages{0});
    CHECK(stages_with(bert, "embeddings.norm.weight") == Stages{0});
    CHECK(stages_with(bert, "pooler.weight") == Stages{1});
    const auto t5 = config_of(config::ModelType::t5, config::TaskKind::seq2seq, 2, 4);
    CHECK(stages_with(t5, "embeddings.word") == Stages{0, 2, 3});
    CHECK(stages_with(t5, "encoder.relative_bias") == Stages{0, 1});
    CHECK(stages_with(t5, "encoder.norm.weight") == Stages{1});
}

TEST_CASE("stages have all parameters together, and count those that several have on each") {
    for (const auto& [type, task] :
         std::map<config::ModelType, config::TaskKind>{{config::ModelType::bert, config::TaskKind::masked_lm},
                                                       {config::ModelType::gpt, config::TaskKind::causal_lm},
                                                       {config::ModelType::t5, config::TaskKind::seq2seq}}) {
        INFO(name(type));
        auto config = config_of(type, task, 3, 3);
        std::int64_t expected = 0, found = 0;
        double flops = 0.0;
        for (const auto& [parameter, sizes] : model::describe_names(config).parameters) {
            std::int64_t values = 1;
            for (const auto size : sizes) values *= size;
            const auto stages = stages_with(config, parameter);
            CHECK_FALSE(stages.empty());
            expected += values * static_cast<std::int64_t>(stages.size());
        }
        for (std::int64_t stage = 0; stage < 3; ++stage) {
            config.distributed.stage.index = stage;
            const auto parts = model::describe(config);
            found += values_in(parts);
            for (const auto& part : parts) flops += part.forward_flops;
        }
        CHECK(found == expected);
        config.distributed.stage = {};
        double whole = 0.0;
        for (const auto& part : model::describe(config)) whole += part.forward_flops;
        CHECK(flops == Approx(whole));
    }
}
