// One attention case by its numbers, and how its data and calls are made from them.
//
// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
    std::int64_t buckets = 16;
    bool bidirectional = true;
    int dense_bias = 0;  // which broadcast: 0 [B, H, N, M], 1 [1, H, N, M], 2 [B, 1, 1, M], 3 [N, M]
    bool offsets =
        false;  // query_offsets other than the default, some of them below what any key can be seen from
    std::int64_t page_size = 0;  // > 0: keys lie in pages
    bool one_hot = false;  // q = 0 and v one-hot: the output is the dropout mask, so is the gradient of v
    std::int64_t first_document = 0;
    bool threaded = false;  // with two threads; the others run with one
};

std::string name_of(const AttentionSpec& spec);
OperationCase attention_case(AttentionSpec spec, const Facts& facts, const VerifyOptions& options);

}  // namespace switchyard::conformance
