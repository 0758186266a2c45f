// One attention case by its numbers, and how its data and calls are made from them.
//
// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/conformance/draw.h>
#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/values.h>
#include <switchyard/conformance/verify.h>

namespace switchyard::conformance {

struct AttentionSpec {
    std::string family;  // the first parts of the name after the layout, e.g. "mask" or "stride/sliced"
    DType dtype = DType::float32;
    Layout layout = Layout::padded;
    Phase phase = Phase::train;
    MaskSet masks = {};
    std::int64_t batch = 2, heads = 4, kv_heads = 2, queries = 70, keys = 70, head_dim = 32, v_head_dim = 32;
    std::vector<std::int64_t> q_lengths = {},
                              k_lengths =
                                  {};  // packed: of the sequences; queries, keys, batch then follow from them
    Placement placement = Placement::dense, grad_placement = Placement::dense;
    double dropout = 0.0;
    std::string needs = "qkvb";  // of q, k, v and the biases; "": none
    bool lse = false;
    bool deterministic = false;
    double scale = 0.0;
    double magnitude = 1.0;  // of q and k
    std::int64_t window_left = 20, window_right = 9;
    std::int64_t shortest_prefix = 2;
    std::int64_t buckets = 16, max_distance = 40;
    double soft_cap = 1.25;
    bool bidirectional = true;
    // Which broadcast: 0 [B, H, N, M], 1 [1, H, N, M], 2 [B, 1, 1, M], 3 [N, M], 4 [B, H, N, 1].
    int dense_bias = 0;
    bool offsets =
        false;  // query_offsets other than the default, some of them below what any key can be seen from
    bool infinite_bias = false;  // a third of the dense bias is -inf, and all of each sequence's second query
    std::string nan = "";  // of q, k, v, dense_bias and grad_out the one that has one NaN, in its middle
    std::int64_t page_size = 0;  // > 0: keys lie in pages
    bool heads_first = false;    // a page's keys lie one head after the other, as a core's cache has them
    bool forked = false;         // all rows share the pages that they could have in common
    bool one_hot = false;  // q = 0 and v one-hot: the output is the dropout mask, so is the gradient of v
    std::int64_t first_document = 0, first_head = 0;
    bool threaded = false;    // with two threads; the others run with one
    std::string detail = "";  // the name's end: what it does not tell otherwise
};

using AttentionSpecs = std::vector<AttentionSpec>;

// Short names of masks, for lists of cases.
namespace attention_masks {
inline constexpr auto causal = MaskKind::causal;
inline constexpr auto key_lengths = MaskKind::key_lengths;
inline constexpr auto documents = MaskKind::documents;
inline constexpr auto window = MaskKind::sliding_window;
inline constexpr auto prefix = MaskKind::prefix;
inline constexpr auto alibi = MaskKind::alibi;
inline constexpr auto relative = MaskKind::relative_bias;
inline constexpr auto soft_cap = MaskKind::soft_cap;
inline constexpr auto dense = MaskKind::dense_bias;
}  // namespace attention_masks

// Cases past the first tile of everything, of masks with dropout, and of values that are not finite.
void add_far_cases(AttentionSpecs& specs, DType dtype);
// One or a few queries against a long cache, contiguous or in pages.
void add_cached_cases(AttentionSpecs& specs, DType dtype);
// Calls of one component on two shapes.
std::vector<AttentionSpecs> shapes_in_turn(DType dtype);

AttentionSpec draw_attention(Draw& draw, const std::vector<DType>& dtypes);

std::string name_of(const AttentionSpec& spec);
OperationCase attention_case(AttentionSpec spec, const Facts& facts, const VerifyOptions& options);
// One component on them in turn, ten times around.
OperationCase attention_in_turn(const AttentionSpecs& specs, const Facts& facts,
                                const VerifyOptions& options);

}  // namespace switchyard::conformance
