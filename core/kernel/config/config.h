// The typed configuration: what load() makes of TOML files, presets and overrides, and what everything else
// reads.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/cache_config.h"
#include "core/kernel/config/data_config.h"
#include "core/kernel/config/distributed_config.h"
#include "core/kernel/config/group_config.h"
#include "core/kernel/config/layer_rule.h"
#include "core/kernel/config/lora_config.h"
#include "core/kernel/config/model_config.h"
#include "core/kernel/config/origin.h"
#include "core/kernel/config/quantization_config.h"
#include "core/kernel/config/run_config.h"
#include "core/kernel/config/slot_config.h"
#include "core/kernel/config/task_config.h"
#include "core/kernel/config/train_config.h"

namespace switchyard::config {

struct Config {
    RunConfig run;
    RuntimeConfig runtime;
    PluginsConfig plugins;
    ModelConfig model;
    BatchConfig batch;
    CacheConfig cache;
    TaskConfig task;
    DataConfig data;
    TrainConfig train;
    DistributedConfig distributed;
    MeshConfig mesh;
    LoraConfig lora;
    QuantizationConfig quantization;
    LogConfig log;
    SlotConfig attention;
    SlotConfig normalization;
    SlotConfig activation;
    SlotConfig linear;
    LossConfig loss;
    OptimizerConfig optimizer;
    PrecisionConfig precision;
    DataLoaderConfig data_loader;
    std::vector<LayerRule> layers;
    std::vector<GroupConfig> groups;

    // By full key ("optimizer.lr", "attention.options.chunked.chunk_size"); keys that nobody wrote are
    // missing, or say what their default was derived from.
    std::map<std::string, Origin, std::less<>> origins;

    // What the loss slot computes.
    LossKind loss_kind() const { return loss.custom.empty() ? task.loss() : LossKind::custom; }

    const SlotConfig& slot(Kind kind) const;
    SlotConfig& slot(Kind kind);

    // Where the value of `key` came from, as text for messages.
    std::string where(std::string_view key) const;
    // The same where somebody wrote it, be it in a preset; else empty.
    std::string written_at(std::string_view key) const;

    // The sections as they are for one layer, all matching rules applied.
    LayerConfig layer(const LayerId& id) const;
    // All layers: the encoder's, then the decoder's.
    std::vector<LayerId> layer_ids() const;
};

}  // namespace switchyard::config
