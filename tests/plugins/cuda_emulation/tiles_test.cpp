// Which tiles the kernels look at: all in which a query sees a key, each once, and no other. To add a case: a
// mask, and lengths; what is seen is worked out below from <switchyard/interfaces/mask.h>, pair by pair.
#include <algorithm>
#include <functional>
#include <ostream>

#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/tensor.h>

#include "attention_on_device.h"
#include "grid_emulation.h"
#include "tiles.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace switchyard::emulation {
// As a failing check prints it.
std::ostream& operator<<(std::ostream& out, const Visit& v) {
    return out << '(' << v.sequence << ' ' << v.head << ' ' << v.row_tile << ' ' << v.column_tile << ')';
}
}  // namespace switchyard::emulation

using emulation::Visit;
using Visits = std::vector<Visit>;

namespace {

struct Case {
    const char* name;
    MaskSet masks;
    std::vector<int> queries, keys;  // of the sequences
    bool packed = false;
    int left = -1, right = -1;
    std::vector<int> key_lengths = {}, prefixes = {}, offsets = {};
};

constexpr int heads = 2;

at::Tensor numbers(const std::vector<int>& values) { return at::tensor(at::ArrayRef<int>(values), at::kInt); }
std::vector<int> running_sum(const std::vector<int>& lengths) {
    std::vector<int> sums{0};
    for (const int length : lengths) sums.push_back(sums.back() + length);
    return sums;
}

AttentionParams params_of(const Case& c) {
    AttentionParams params;
    params.layout = c.packed ? Layout::packed : Layout::padded;
    params.mask.kinds = c.masks;
    params.mask.window_left = c.left;
    params.mask.window_right = c.right;
    if (c.packed) {
        params.mask.cu_seqlens_q = numbers(running_sum(c.queries));
        params.mask.cu_seqlens_k = numbers(running_sum(c.keys));
    }
    if (!c.key_lengths.empty()) params.mask.key_lengths = numbers(c.key_lengths);
    if (!c.prefixes.empty()) params.mask.prefix_lengths = numbers(c.prefixes);
    if (!c.offsets.empty()) params.mask.query_offsets = numbers(c.offsets);
    return params;
}

AttentionInputs inputs_of(const Case& c) {
    const auto random = [](at::IntArrayRef sizes) {
        return at::randn(sizes, at::TensorOptions().dtype(at::kBFloat16));
    };
    const auto sequences = static_cast<std::int64_t>(c.queries.size());
    if (!c.packed)
        return {random({sequences, heads, c.queries[0], 64}),
                random({sequences, heads, c.keys[0], 64}),
                random({sequences, heads, c.keys[0], 64}),
                {},
                {}};
    const int q = running_sum(c.queries).back(), k = running_sum(c.keys).back();
    return {random({q, heads, 64}), random({k, heads, 64}), random({k, heads, 64}), {}, {}};
}

bool sees(const Case& c, std::size_t b, int query, int key) {
    const int offset = c.offsets.empty() ? c.keys[b] - c.queries[b] : c.offsets[b];
    const int position = query + offset;
    if (!c.key_lengths.empty() && key >= c.key_lengths[b]) return false;
    if (!c.prefixes.empty() && key < c.prefixes[b]) return true;
    return (!c.masks.has(MaskKind::causal) || key <= position) && (c.left < 0 || key >= position - c.left) &&
           (c.right < 0 || key <= position + c.right);
}

// Tiles of `rows` queries and 64 keys that have a pair which is seen, `times` over.
Visits expected(const Case& c, int rows, int times) {
    Visits visits;
    for (std::size_t b = 0; b < c.queries.size(); ++b) {
        for (int r = 0; r < c.queries[b]; r += rows) {
            for (int k = 0; k < c.keys[b]; k += 64) {
                bool any = false;
                for (int i = r; i < std::min(r + rows, c.queries[b]); ++i) {
                    for (int j = k; j < std::min(k + 64, c.keys[b]); ++j) any = any || sees(c, b, i, j);
                }
                for (int head = 0; any && head < heads; ++head)
                    visits.insert(visits.end(), times, {static_cast<int>(b), head, r / rows, k / 64});
            }
        }
    }
    std::sort(visits.begin(), visits.end());
    return visits;
}

Visits visits_of(const std::function<void()>& call) {
    emulation::statistics().visits.clear();
    call();
    Visits visits = emulation::statistics().visits;
    std::sort(visits.begin(), visits.end());
    return visits;
}

const Case cases[] = {
    {"no mask", {}, {150, 150}, {200, 200}},
    {"causal", {MaskKind::causal}, {260}, {260}},
    {"causal, fewer queries than keys", {MaskKind::causal}, {70}, {300}},
    {"causal, more queries than keys", {MaskKind::causal}, {300}, {70}},
    {"window", {MaskKind::sliding_window}, {300}, {300}, false, 40, 3},
    {"window to the left", {MaskKind::sliding_window, MaskKind::causal}, {300}, {300}, false, 64},
    {"window to the right", {MaskKind::sliding_window}, {200}, {200}, false, -1, 0},
    {"prefix",
     {MaskKind::causal, MaskKind::sliding_window, MaskKind::prefix},
     {330, 330},
     {330, 330},
     false,
     20,
     -1,
     {},
     {70, 3}},
    {"key lengths", {MaskKind::key_lengths}, {70, 70, 70}, {300, 300, 300}, false, -1, -1, {0, 64, 65}},
    {"causal and key lengths",
     {MaskKind::key_lengths, MaskKind::causal},
     {200, 200},
     {200, 200},
     false,
     -1,
     -1,
     {200, 30}},
    {"offsets to the left of all keys",
     {MaskKind::causal},
     {200, 200},
     {200, 200},
     false,
     -1,
     -1,
     {},
     {},
     {-150, 0}},
    {"packed", {MaskKind::documents}, {5, 0, 130, 64}, {5, 0, 130, 64}, true},
    {"packed and causal", {MaskKind::documents, MaskKind::causal}, {200, 1, 70}, {200, 9, 130}, true},
    {"packed with a window",
     {MaskKind::documents, MaskKind::sliding_window},
     {200, 70},
     {200, 70},
     true,
     10,
     10},
};

}  // namespace

TEST_CASE("forward looks at the tiles that the mask leaves, backward too, and twice") {
    for (const Case& c : cases) {
        INFO(c.name);
        const AttentionInputs inputs = inputs_of(c);
        const AttentionParams params = params_of(c);
        flash_cuda::AttentionOnDevice attention;
        Saved saved;
        at::Tensor out;
        const Visits forward = visits_of([&] { out = attention.forward(inputs, params, &saved, {}).out; });
        CHECK(forward == expected(c, flash_cuda::forward_rows(64, false), 1));
        const Visits backward =
            visits_of([&] { attention.backward(params, saved, at::randn_like(out), {}, {}); });
        CHECK(backward == expected(c, 64, 2));
        CHECK(backward.size() > 0);
    }
}

TEST_CASE("with terms, tiles of forward are half as high") {
    Case c = {"soft cap", {MaskKind::causal, MaskKind::soft_cap}, {260}, {260}};
    AttentionParams params = params_of(c);
    params.mask.soft_cap = 2.0;
    flash_cuda::AttentionOnDevice attention;
    const Visits forward = visits_of([&] { attention.forward(inputs_of(c), params, nullptr, {}); });
    CHECK(forward == expected(c, flash_cuda::forward_rows(64, true), 1));
}

TEST_CASE("decoding reads each tile of keys once for all heads that share it, whatever the splits") {
    const auto random = [](at::IntArrayRef sizes) {
        return at::randn(sizes, at::TensorOptions().dtype(at::kBFloat16));
    };
    const AttentionInputs inputs{
        random({2, 8, 1, 64}), random({2, 2, 640, 64}), random({2, 2, 640, 64}), {}, {}};
    AttentionParams params;
    params.mask.kinds = {MaskKind::key_lengths};
    params.mask.key_lengths = numbers({640, 100});
    for (const int multiprocessors : {1, 4, 132}) {
        flash_cuda::AttentionOnDevice attention;
        Visits visits = visits_of([&] {
            attention.forward(inputs, params, nullptr, {nullptr, multiprocessors});
        });
        for (Visit& visit : visits) visit.row_tile = 0;  // the split
        std::sort(visits.begin(), visits.end());
        Visits wanted;
        for (int kv_head = 0; kv_head < 2; ++kv_head) {
            for (int tile = 0; tile < 10; ++tile) wanted.push_back({0, kv_head, 0, tile});
            for (int tile = 0; tile < 2; ++tile) wanted.push_back({1, kv_head, 0, tile});
        }
        std::sort(wanted.begin(), wanted.end());
        CHECK(visits == wanted);
    }
}
