// Which layers, embeddings and head a process has where ranges of layers are given to ranks (pipeline
// parallel; Huang et al. 2019, arXiv:1811.06965). Layers are cut in the order in which a batch meets them,
// the encoder's first, into as many ranges as there are stages, as equal as can be. Tokens are embedded where
// the first layer of their stack is, and the head and the loss are where the last layer is.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/kernel/config/config.h"

namespace switchyard::model {

// Layers of a stack.
struct LayerRange {
    std::int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
    bool operator==(const LayerRange&) const = default;
};

class PipelineStage {
public:
    // Of that number, of distributed.stage's many; without a number, of this process.
    explicit PipelineStage(const config::Config& config)
        : PipelineStage(config, config.distributed.stage.index) {}
    PipelineStage(const config::Config& config, std::int64_t number);

    bool whole() const { return stages_ == 1; }
    bool is_first() const { return number_ == 0; }
    bool is_last() const { return number_ + 1 == stages_; }
    LayerRange layers(config::Stack stack) const;
    bool has(config::Stack stack) const { return !layers(stack).empty(); }
    // Its first layer, and so the embeddings of its tokens; its last, and so the norm behind it.
    bool begins(config::Stack stack) const;
    bool ends(config::Stack stack) const;
    bool embeds() const { return begins(config::Stack::encoder) || begins(config::Stack::decoder); }
    // Whether it has, or makes gradients of, a parameter of that name: "encoder.0.attention.q.weight".
    bool has(std::string_view parameter) const;
    // Whether that layer is the first of some stage, not of its stack: what it takes in came from another.
    bool takes_over(const config::LayerId& layer) const;

private:
    LayerRange range() const;

    std::int64_t encoder_, decoder_;  // layers of each
    std::int64_t number_, stages_;
    bool head_reads_words_;
};

// The stages of a configuration that have a parameter, in their order. Several: the table of words, where it
// is the head's too or two stacks read it, and positions that all layers of a stack share.
std::vector<std::int64_t> stages_with(const config::Config& config, std::string_view parameter);

}  // namespace switchyard::model
