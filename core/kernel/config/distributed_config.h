// [distributed]: how the processes of one training, its ranks, work together. Which process is which rank is
// no part of the configuration: whoever starts them says so in the environment
// (core/workbench/distributed/environment.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// Whose collective operations sum up and hand round tensors.
enum class Collectives : std::uint8_t { gloo, nccl };

// What becomes of the learning rate where more ranks make a step's batch larger: nothing; that many times as
// high (Goyal et al. 2017, arXiv:1706.02677); or by the square root of that (Krizhevsky 2014,
// arXiv:1404.5997; usual for Adam).
enum class LrScaling : std::uint8_t { none, linear, square_root };

// In what gradients travel from rank to rank.
enum class Compression : std::uint8_t { none, bfloat16 };

// What of a training is divided over the ranks, and not on each: nothing; the optimizer's state, with the
// float32 masters of parameters of lower precision (Rajbhandari et al. 2020, arXiv:1910.02054, "ZeRO-1"); or
// parameters and gradients as well ("ZeRO-3").
enum class Sharding : std::uint8_t { none, optimizer, full };

// In which order the stages of a pipeline run forward and backward of a step's micro-batches
// (core/workbench/model/pipeline_schedule.h): each backward as soon as it can be (Narayanan et al. 2021,
// arXiv:2104.04473), or all of them after all forwards (Huang et al. 2019, "GPipe", arXiv:1811.06965).
enum class PipelineSchedule : std::uint8_t { one_forward_one_backward, gpipe };

// Ranks as a grid: `data` times as many as share the layers of one model share its batches. Within the layers
// `tensor` ranks have a part of each (Shoeybi et al. 2019, arXiv:1909.08053), `pipeline` a range of them.
struct MeshConfig {
    std::int64_t data = 0;  // 0: as many as the other two leave
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    bool operator==(const MeshConfig&) const = default;
};

// Which part of the layers this process makes, where ranks have a part each. No key: of a configuration that
// is read the model is whole, and `train` sets it.
struct LayerPart {
    std::int64_t index = 0, parts = 1;
    bool whole() const { return parts == 1; }
    bool operator==(const LayerPart&) const = default;
};

struct DistributedConfig {
    std::optional<Collectives> backend;  // empty: nccl where the model is on a GPU, else gloo
    double timeout = 30.0;               // seconds that a rank waits for the others in a step
    std::string interface;               // of the network; empty: that of the host's name
    LrScaling lr_scaling = LrScaling::none;
    double bucket_mb = 25.0;  // of gradients that are summed up at once
    Compression compression = Compression::none;
    Sharding shard = Sharding::none;
    // Between blocks each of mesh.tensor ranks has some of the tokens (Korthikanti et al. 2022,
    // arXiv:2205.05198).
    bool sequence_parallel = false;
    PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
    LayerPart part;
    LayerPart stage;  // which range of the layers, likewise
    bool operator==(const DistributedConfig&) const = default;
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<config::Collectives>{"gloo", "nccl"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::LrScaling>{"none", "linear", "sqrt"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::Compression>{"none", "bfloat16"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::PipelineSchedule>{"1f1b", "gpipe"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Sharding>{"none", "optimizer", "full"};
}  // namespace switchyard
