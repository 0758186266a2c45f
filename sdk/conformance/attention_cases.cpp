// Which attention cases there are. Each function is one difficulty; sizes are as small as the difficulty
// allows.
#include <switchyard/conformance/attention_case.h>
#include <switchyard/conformance/cases.h>

namespace switchyard::conformance {
namespace {

using namespace attention_masks;
using Specs = AttentionSpecs;

const MaskSet mask_sets[] = {
    {},
    {causal},
    {key_lengths},
    {window},
    {prefix},
    {alibi},
    {relative},
    {soft_cap},
    {dense},
    {causal, key_lengths},
    {causal, window},
    {window, key_lengths},
    {causal, prefix},
    {causal, prefix, key_lengths},
    {causal, window, prefix},
    {causal, alibi},
    {alibi, key_lengths},
    {causal, relative},
    {relative, key_lengths},
    {causal, soft_cap},
    {causal, window, soft_cap},
    {causal, dense},
    {dense, key_lengths},
    {alibi, relative},
    {causal, window, alibi, soft_cap, relative},
    {causal, key_lengths, window, prefix, alibi, relative, soft_cap, dense},
};

// Every mask by itself and the combinations that models use, as many queries as keys and fewer.
void add_masks(Specs& specs, DType dtype) {
    for (const MaskSet& masks : mask_sets) {
        const std::int64_t batch = masks.has(key_lengths) ? 4 : 2;
        specs.push_back({.family = "mask", .dtype = dtype, .masks = masks, .batch = batch});
        specs.push_back({.family = "mask",
                         .dtype = dtype,
                         .masks = masks,
                         .batch = batch,
                         .queries = 37,
                         .bidirectional = false});
        if (masks.has(key_lengths) || masks.has(dense)) continue;
        AttentionSpec packed{.family = "mask", .dtype = dtype, .layout = Layout::packed, .masks = masks};
        packed.masks.insert(documents);
        packed.q_lengths = packed.k_lengths = {5, 65, 0, 1, 40};
        specs.push_back(packed);
        packed.q_lengths = {5, 33, 2, 0, 7};
        packed.k_lengths = {5, 70, 40, 3, 0};
        packed.bidirectional = false;
        specs.push_back(packed);
    }
    AttentionSpec one_sided{.family = "mask/window_left", .dtype = dtype, .masks = {window}};
    one_sided.window_right = -1;
    specs.push_back(one_sided);
    one_sided = {.family = "mask/window_right", .dtype = dtype, .masks = {window}};
    one_sided.window_left = -1;
    one_sided.window_right = 0;
    specs.push_back(one_sided);
    for (int broadcast = 1; broadcast <= 3; ++broadcast) {
        AttentionSpec spec{
            .family = "mask/broadcast" + std::to_string(broadcast), .dtype = dtype, .masks = {dense}};
        spec.dense_bias = broadcast;
        specs.push_back(spec);
    }
    for (const MaskSet& masks : {MaskSet{relative}, MaskSet{dense}}) {
        specs.push_back({.family = "mask/no_bias_gradient", .dtype = dtype, .masks = masks, .needs = "qkv"});
        specs.push_back({.family = "mask/only_bias_gradient", .dtype = dtype, .masks = masks, .needs = "b"});
    }
}

// Sizes at the edges of tiles, empty ones, head sizes and heads.
void add_shapes(Specs& specs, DType dtype) {
    const std::int64_t lengths[][2] = {{0, 5},     {5, 0},     {0, 0},     {1, 1},   {1, 129},  {7, 7},
                                       {127, 127}, {128, 128}, {129, 129}, {3, 130}, {130, 40}, {64, 257}};
    for (const auto& [queries, keys] : lengths) {
        for (const MaskSet& masks : {MaskSet{}, MaskSet{causal}}) {
            specs.push_back({.family = "shape",
                             .dtype = dtype,
                             .masks = masks,
                             .batch = 1,
                             .heads = 2,
                             .queries = queries,
                             .keys = keys});
        }
    }
    specs.push_back({.family = "shape", .dtype = dtype, .batch = 0});
    for (const std::int64_t dim : {1, 7, 8, 16, 40, 64, 80, 96, 128, 256}) {
        specs.push_back({.family = "head_dim",
                         .dtype = dtype,
                         .masks = {causal},
                         .batch = 1,
                         .heads = 2,
                         .queries = 33,
                         .keys = 33,
                         .head_dim = dim,
                         .v_head_dim = dim});
    }
    for (const auto& [dim, v_dim] : {std::pair<std::int64_t, std::int64_t>{64, 32}, {32, 64}, {24, 7}}) {
        specs.push_back({.family = "head_dim",
                         .dtype = dtype,
                         .batch = 1,
                         .heads = 2,
                         .queries = 33,
                         .keys = 33,
                         .head_dim = dim,
                         .v_head_dim = v_dim});
    }
    const std::int64_t heads[][2] = {{1, 1}, {4, 4}, {4, 1}, {6, 3}, {6, 2}, {5, 5}};
    for (const auto& [h, k] : heads) {
        specs.push_back({.family = "heads",
                         .dtype = dtype,
                         .masks = {causal},
                         .heads = h,
                         .kv_heads = k,
                         .queries = 33,
                         .keys = 33});
        AttentionSpec packed{.family = "heads",
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .masks = {documents},
                             .heads = h,
                             .kv_heads = k};
        packed.q_lengths = packed.k_lengths = {20, 13};
        specs.push_back(packed);
    }
    for (const std::vector<std::int64_t>& lengths_of :
         {std::vector<std::int64_t>{0}, {0, 0, 3}, {1, 1, 1, 1, 1}, {127, 128, 129}, {300}}) {
        AttentionSpec packed{.family = "lengths",
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .masks = {documents, causal},
                             .heads = 2};
        packed.q_lengths = packed.k_lengths = lengths_of;
        packed.family += std::to_string(lengths_of.size());
        specs.push_back(packed);
    }
}

void add_strides(Specs& specs, DType dtype) {
    for (const Placement placement :
         {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
        for (const MaskSet& masks : {MaskSet{causal}, MaskSet{dense, key_lengths}}) {
            if (placement == Placement::expanded && masks.has(key_lengths)) continue;
            specs.push_back({.family = std::string("stride/") + name(placement),
                             .dtype = dtype,
                             .masks = masks,
                             .queries = 33,
                             .placement = placement,
                             .grad_placement = placement});
        }
        AttentionSpec packed{.family = std::string("stride/") + name(placement),
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .masks = {documents, causal},
                             .placement = placement,
                             .grad_placement = placement};
        packed.q_lengths = {5, 33, 1};
        packed.k_lengths = {9, 33, 4};
        specs.push_back(packed);
    }
}

void add_dropout(Specs& specs, DType dtype) {
    for (const MaskSet& masks : {MaskSet{}, MaskSet{causal}, MaskSet{causal, key_lengths},
                                 MaskSet{relative, soft_cap}, MaskSet{dense}}) {
        specs.push_back({.family = "dropout",
                         .dtype = dtype,
                         .masks = masks,
                         .queries = 40,
                         .keys = 135,
                         .dropout = 0.1});
        specs.push_back(
            {.family = "dropout", .dtype = dtype, .masks = masks, .dropout = 0.5, .first_document = 7});
        specs.push_back(
            {.family = "dropout/heads", .dtype = dtype, .masks = masks, .dropout = 0.5, .first_head = 12});
    }
    AttentionSpec packed{.family = "dropout",
                         .dtype = dtype,
                         .layout = Layout::packed,
                         .masks = {documents, causal},
                         .dropout = 0.3,
                         .first_document = 3};
    packed.q_lengths = {5, 65, 0, 30};
    packed.k_lengths = {5, 70, 3, 30};
    specs.push_back(packed);
    for (const double p : {0.1, 0.5}) {
        specs.push_back({.family = "dropout/one_hot",
                         .dtype = dtype,
                         .kv_heads = 4,
                         .queries = 64,
                         .keys = 64,
                         .head_dim = 64,
                         .v_head_dim = 64,
                         .dropout = p,
                         .one_hot = true,
                         .first_document = 2,
                         .first_head = 4});
        specs.push_back({.family = "dropout/one_hot",
                         .dtype = dtype,
                         .kv_heads = 4,
                         .queries = 33,
                         .keys = 129,
                         .head_dim = 64,
                         .v_head_dim = 64,
                         .dropout = p,
                         .one_hot = true});
    }
}

void add_gradients(Specs& specs, DType dtype) {
    for (const char* needs : {"", "q", "kv", "v"}) {
        specs.push_back({.family = "needs",
                         .dtype = dtype,
                         .phase = *needs == 0 ? Phase::eval : Phase::train,
                         .masks = {causal},
                         .queries = 33,
                         .keys = 33,
                         .needs = needs});
        AttentionSpec packed{.family = "needs",
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .phase = *needs == 0 ? Phase::eval : Phase::train,
                             .masks = {documents, causal},
                             .needs = needs};
        packed.q_lengths = packed.k_lengths = {20, 13};
        specs.push_back(packed);
    }
    for (const char* needs : {"", "qkvb"}) {
        const Phase phase = *needs == 0 ? Phase::eval : Phase::train;
        specs.push_back({.family = "lse",
                         .dtype = dtype,
                         .phase = phase,
                         .masks = {causal, key_lengths},
                         .batch = 4,
                         .queries = 33,
                         .needs = needs,
                         .lse = true});
        AttentionSpec packed{.family = "lse",
                             .dtype = dtype,
                             .layout = Layout::packed,
                             .phase = phase,
                             .masks = {documents, causal},
                             .needs = needs,
                             .lse = true};
        packed.q_lengths = {5, 33, 9};
        packed.k_lengths = {5, 33, 2};
        specs.push_back(packed);
    }
    specs.push_back({.family = "deterministic",
                     .dtype = dtype,
                     .masks = {causal},
                     .queries = 129,
                     .keys = 129,
                     .deterministic = true});
    specs.push_back({.family = "deterministic",
                     .dtype = dtype,
                     .masks = {relative},
                     .deterministic = true,
                     .threaded = true});
}

// Work that is cut between threads.
void add_threads(Specs& specs, DType dtype) {
    specs.push_back({.family = "shape",
                     .dtype = dtype,
                     .masks = {causal},
                     .batch = 1,
                     .heads = 3,
                     .kv_heads = 3,
                     .queries = 300,
                     .keys = 300,
                     .threaded = true});
    specs.push_back({.family = "shape",
                     .dtype = dtype,
                     .masks = {relative},
                     .heads = 4,
                     .kv_heads = 1,
                     .queries = 130,
                     .keys = 257,
                     .dropout = 0.2,
                     .threaded = true});
    // So few heads and so many keys that backward may be cut along the keys.
    for (const MaskSet& masks : {MaskSet{causal, relative}, MaskSet{window, prefix}}) {
        // One bucket has nearly all keys: its sum shows the rounding of an output that is stored in 16 bits.
        if (masks.has(relative) && size_of(dtype) < 4) continue;
        specs.push_back({.family = "shape",
                         .dtype = dtype,
                         .masks = masks,
                         .batch = 1,
                         .heads = 2,
                         .kv_heads = 1,
                         .queries = 130,
                         .keys = 1100,
                         .threaded = true});
    }
    for (int broadcast = 1; broadcast <= 3; ++broadcast) {
        AttentionSpec spec{.family = "mask/broadcast" + std::to_string(broadcast),
                           .dtype = dtype,
                           .masks = {dense},
                           .heads = 2,
                           .kv_heads = 1,
                           .queries = 40,
                           .keys = 150,
                           .threaded = true};
        spec.dense_bias = broadcast;
        specs.push_back(spec);
    }
    AttentionSpec packed{.family = "lengths",
                         .dtype = dtype,
                         .layout = Layout::packed,
                         .masks = {documents, causal, relative},
                         .threaded = true};
    packed.q_lengths = packed.k_lengths = {40, 129, 0, 70, 1};
    specs.push_back(packed);
    specs.push_back({.family = "cache",
                     .dtype = dtype,
                     .phase = Phase::decode,
                     .masks = {causal, key_lengths},
                     .batch = 2,
                     .queries = 1,
                     .keys = 1000,
                     .head_dim = 64,
                     .v_head_dim = 64,
                     .needs = "",
                     .offsets = true,
                     .threaded = true});
}

void add_numbers(Specs& specs, DType dtype) {
    specs.push_back({.family = "scale", .dtype = dtype, .masks = {soft_cap}, .scale = 0.37});
    specs.push_back({.family = "scale", .dtype = dtype, .masks = {causal, alibi}, .scale = 0.02});
    // Scores of some hundred, far past what exp holds without its maximum taken off.
    specs.push_back({.family = "large", .dtype = dtype, .phase = Phase::eval, .needs = "", .magnitude = 8.0});
    specs.push_back({.family = "large",
                     .dtype = dtype,
                     .phase = Phase::eval,
                     .masks = {causal},
                     .needs = "",
                     .lse = true,
                     .magnitude = 8.0});
    specs.push_back({.family = "large", .dtype = dtype, .masks = {causal}, .magnitude = 3.0});
    specs.push_back({.family = "offsets", .dtype = dtype, .masks = {causal}, .queries = 20, .offsets = true});
    specs.push_back({.family = "offsets",
                     .dtype = dtype,
                     .masks = {causal, window, alibi, relative},
                     .queries = 20,
                     .offsets = true});
}

}  // namespace

std::vector<OperationCase> listed_cases(KindTraits<Kind::attention>, const Facts& facts,
                                        const VerifyOptions& options) {
    Specs specs;
    for (const DType dtype : options.dtypes) {
        add_masks(specs, dtype);
        add_shapes(specs, dtype);
        add_strides(specs, dtype);
        add_dropout(specs, dtype);
        add_gradients(specs, dtype);
        add_threads(specs, dtype);
        add_numbers(specs, dtype);
        add_cached_cases(specs, dtype);
        add_far_cases(specs, dtype);
    }
    std::vector<OperationCase> cases;
    for (const AttentionSpec& spec : specs) cases.push_back(attention_case(spec, facts, options));
    for (const DType dtype : options.dtypes) {
        for (const auto& shapes : shapes_in_turn(dtype))
            cases.push_back(attention_in_turn(shapes, facts, options));
    }
    return cases;
}

OperationCase drawn_case(KindTraits<Kind::attention>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options) {
    return attention_case(draw_attention(draw, options.dtypes), facts, options);
}

}  // namespace switchyard::conformance
