// The typed masks of <switchyard/interfaces/mask.h> as what scaled_dot_product_attention takes: `is_causal`,
// or one additive mask.
//
// A mask is built once and kept while the tensors that it was made of (the same tensors, not changed since)
// and the lengths stay the same: so all layers of a step share it, as they do in eager code. Letters: B batch
// H heads  N queries  M keys.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/attention.h>

namespace switchyard {

struct SdpaMask {
    bool causal = false;             // instead of a mask, and only where N == M
    std::optional<at::Tensor> bias;  // additive, 4 dimensions, each that of [B, H, N, M] or 1
    // bool [B or 1, 1, N, 1], on CUDA only and only if there is such a row: queries without a key. Their mask
    // is open, since not all of LibTorch's CUDA kernels survive a row of -inf; the output is to be zeroed,
    // and with it the gradients.
    at::Tensor keyless;
};

// One call's lengths: of the padded batch, or of one packed sequence (then prefix is its number, and
// query_offsets are not used).
struct MaskShape {
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::optional<std::int64_t> sequence;
};

class AttentionMasks {
public:
    SdpaMask make(const AttentionInputs& inputs, const AttentionParams& params, const MaskShape& shape);

private:
    // A tensor that a mask was made of; held, so that its address is not used again.
    struct Source {
        at::Tensor tensor;
        std::uint32_t version = 0;
        bool operator==(const Source& other) const {
            return tensor.is_same(other.tensor) && version == other.version;
        }
    };
    struct Key {
        MaskSet kinds;
        std::vector<std::int64_t> numbers;
        std::vector<Source> sources;
        bool operator==(const Key&) const = default;
    };
    struct Kept {
        Key key;
        SdpaMask mask;
    };

    static std::optional<Key> key_of(const AttentionInputs& inputs, const AttentionParams& params,
                                     const MaskShape& shape);

    std::vector<Kept> kept_;
    std::int64_t kept_values_ = 0;
};

}  // namespace switchyard
