// Attention cases past the sizes at which kernels change their way - longer than any tile, wider than any
// register file, more heads than threads -, narrow in all other dimensions so that they stay cheap.
#include <switchyard/conformance/attention_case.h>

namespace switchyard::conformance {
namespace {

using namespace attention_masks;
using Specs = AttentionSpecs;

AttentionSpec small(const char* family, DType dtype, const MaskSet& masks) {
    return {.family = family,
            .dtype = dtype,
            .masks = masks,
            .batch = 1,
            .heads = 1,
            .kv_heads = 1,
            .head_dim = 16,
            .v_head_dim = 16};
}

void add_sizes(Specs& specs, DType dtype) {
    const auto with = [&](const char* family, const MaskSet& masks, auto change) {
        AttentionSpec spec = small(family, dtype, masks);
        change(spec);
        specs.push_back(spec);
    };
    for (const MaskSet& masks : {MaskSet{}, MaskSet{causal}}) {
        // float64 has no wider oracle, and over so many keys its errors are not float32's in proportion.
        if (dtype != DType::float64)
            with("long", masks, [](AttentionSpec& s) { s.queries = 9, s.keys = 2100; });
        with("long", masks, [](AttentionSpec& s) { s.queries = 700, s.keys = 40; });
        with("long", masks, [](AttentionSpec& s) { s.queries = 9, s.keys = 700, s.dropout = 0.3; });
        with("heads", masks, [](AttentionSpec& s) { s.heads = s.kv_heads = 19, s.queries = s.keys = 33; });
        with("heads", masks, [](AttentionSpec& s) { s.heads = 36, s.kv_heads = 3, s.queries = s.keys = 17; });
        for (const std::int64_t dim : {264, 513}) {
            with("head_dim", masks,
                 [&](AttentionSpec& s) { s.queries = 17, s.keys = 33, s.head_dim = s.v_head_dim = dim; });
        }
    }
    with("head_dim", {},
         [](AttentionSpec& s) { s.queries = 17, s.keys = 33, s.head_dim = 320, s.v_head_dim = 300; });
    with("long", {documents, causal}, [](AttentionSpec& s) {
        s.layout = Layout::packed, s.q_lengths = {5, 330, 7}, s.k_lengths = {5, 330, 1200};
    });
    with("heads", {documents}, [](AttentionSpec& s) {
        s.layout = Layout::packed, s.heads = 18, s.kv_heads = 9, s.q_lengths = s.k_lengths = {20, 13};
    });
    for (const MaskSet& masks : {MaskSet{causal, prefix}, MaskSet{window, prefix}}) {
        with("prefix90", masks,
             [](AttentionSpec& s) { s.batch = 3, s.queries = s.keys = 130, s.shortest_prefix = 90; });
    }
    for (const MaskSet& masks : {MaskSet{window}, MaskSet{causal, window}}) {
        with("window90+40", masks,
             [](AttentionSpec& s) { s.queries = 60, s.keys = 300, s.window_left = 90, s.window_right = 40; });
        with("window400+150", masks, [](AttentionSpec& s) {
            s.queries = 300, s.keys = 700, s.window_left = 400, s.window_right = 150;
        });
    }
}

// A bias of -inf hides a key as a mask does; a query that it hides all keys from gets zeros.
void add_infinite_biases(Specs& specs, DType dtype) {
    for (const MaskSet& masks : {MaskSet{dense}, MaskSet{causal, dense}, MaskSet{dense, key_lengths}}) {
        specs.push_back({.family = "infinite_bias",
                         .dtype = dtype,
                         .masks = masks,
                         .queries = 40,
                         .keys = 150,
                         .infinite_bias = true});
    }
    for (int broadcast = 1; broadcast <= 3; ++broadcast) {
        specs.push_back({.family = "infinite_bias/broadcast" + std::to_string(broadcast),
                         .dtype = dtype,
                         .masks = {dense},
                         .heads = 2,
                         .queries = 40,
                         .keys = 150,
                         .dense_bias = broadcast,
                         .infinite_bias = true});
    }
}

// Dropout with all that moves positions, and with the log-sum-exp that backward starts from.
void add_dropout(Specs& specs, DType dtype) {
    const auto with = [&](const char* family, const MaskSet& masks) -> AttentionSpec& {
        return specs.emplace_back(AttentionSpec{
            .family = family, .dtype = dtype, .masks = masks, .queries = 40, .keys = 135, .dropout = 0.3});
    };
    for (const MaskSet& masks : {MaskSet{alibi}, MaskSet{window}, MaskSet{prefix}, MaskSet{causal, window},
                                 MaskSet{causal, prefix}, MaskSet{causal, alibi}})
        with("dropout/masked", masks);
    for (const MaskSet& masks : {MaskSet{}, MaskSet{causal}, MaskSet{causal, alibi}}) {
        AttentionSpec& spec = with("dropout/offsets", masks);
        spec.queries = 20, spec.keys = 150, spec.offsets = true;
    }
    for (const MaskSet& masks : {MaskSet{}, MaskSet{causal, key_lengths}})
        with("dropout/lse", masks).lse = true;
    for (const MaskSet& masks :
         {MaskSet{documents, relative}, MaskSet{documents, causal, relative}, MaskSet{documents, alibi},
          MaskSet{documents, window}, MaskSet{documents, causal, prefix}}) {
        AttentionSpec packed{.family = "dropout/masked",
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .masks = masks,
                             .dropout = 0.3,
                             .first_document = 3};
        packed.lse = masks.has(alibi);
        packed.q_lengths = {5, 65, 0, 30};
        packed.k_lengths = {5, 170, 3, 30};
        specs.push_back(packed);
    }
}

// What is not a number stays none, in all that depends on it and in nothing else. Without masks: what a
// kernel makes of a NaN times a probability of 0 is its own affair. Of 16 bits there are whole tiles of keys:
// LibTorch's products of bfloat16 by AMX read past the end of a row, and the next row's NaN times a zero is
// one, too.
void add_nan(Specs& specs, DType dtype) {
    const bool narrow = dtype == DType::bfloat16 || dtype == DType::float16;
    const std::int64_t keys = narrow ? 160 : 150;
    for (const char* where : {"q", "k", "v", "grad_out"}) {
        AttentionSpec spec{.family = std::string("nan/") + where, .dtype = dtype, .keys = keys};
        spec.nan = where;
        specs.push_back(spec);
    }
    for (const int broadcast : {0, 3}) {
        AttentionSpec spec{.family = "nan/dense_bias" + std::to_string(broadcast),
                           .dtype = dtype,
                           .masks = {dense},
                           .keys = keys,
                           .dense_bias = broadcast};
        spec.nan = "dense_bias";
        specs.push_back(spec);
    }
    AttentionSpec packed{.family = "nan/q", .dtype = dtype, .layout = Layout::packed, .masks = {documents}};
    packed.q_lengths = packed.k_lengths = {20, narrow ? 64 : 75, 3};
    packed.nan = "q";
    specs.push_back(packed);
    for (const char* where : {"q", "k", "v"}) {
        specs.push_back({.family = std::string("nan/") + where,
                         .dtype = dtype,
                         .phase = Phase::decode,
                         .queries = 1,
                         .keys = 333,
                         .needs = "",
                         .nan = where});
    }
}

}  // namespace

void add_far_cases(Specs& specs, DType dtype) {
    add_sizes(specs, dtype);
    add_infinite_biases(specs, dtype);
    add_dropout(specs, dtype);
    add_nan(specs, dtype);
}

std::vector<Specs> shapes_in_turn(DType dtype) {
    std::vector<Specs> all;
    for (const MaskSet& masks : {MaskSet{causal}, MaskSet{relative}, MaskSet{dense, key_lengths}}) {
        AttentionSpec small_one{.family = "in_turn",
                                .dtype = dtype,
                                .masks = masks,
                                .batch = 1,
                                .queries = 21,
                                .keys = 21,
                                .dropout = masks.has(causal) ? 0.2 : 0.0};
        AttentionSpec large_one = small_one;
        large_one.batch = 2;
        large_one.queries = 70;
        large_one.keys = 150;
        all.push_back({small_one, large_one});
        std::swap(small_one, large_one);
        if (masks.has(causal)) all.push_back({small_one, large_one});
    }
    AttentionSpec packed{.family = "in_turn",
                         .dtype = dtype,
                         .layout = Layout::packed,
                         .masks = {documents, causal, relative}};
    packed.q_lengths = packed.k_lengths = {9, 14};
    AttentionSpec longer = packed;
    longer.q_lengths = {40, 1, 66};
    longer.k_lengths = {140, 1, 66};
    all.push_back({packed, longer});
    AttentionSpec cache{.family = "in_turn",
                        .dtype = dtype,
                        .phase = Phase::decode,
                        .masks = {causal},
                        .queries = 1,
                        .keys = 130,
                        .needs = ""};
    AttentionSpec more = cache;
    more.keys = 131;
    all.push_back({cache, more});
    return all;
}

}  // namespace switchyard::conformance
