// Attention cases by chance: everything that a spec can say, each with everything else.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <switchyard/conformance/attention_case.h>
#include <switchyard/conformance/cases.h>

namespace switchyard::conformance {
namespace {

// Kernels that keep no probabilities take sum P dP as the product of the output and its gradient (Dao et al.
// 2022, arXiv:2205.14135, algorithm 4). Where one of few keys has nearly all of a row, dS = P (dP - sum P dP)
// is nearly 0: what is left is how the output was rounded - to 16 bits, or summed over many queries also to
// float32 -, which the reference, that keeps its probabilities, does not have. Listed cases have fewer keys.
constexpr std::int64_t fewest_keys = 6;

void draw_lengths(AttentionSpec& spec, Draw& draw) {
    if (spec.layout == Layout::packed) {
        const std::int64_t sequences = draw.between(1, 5);
        const bool equal = draw.chance(0.6);
        for (std::int64_t s = 0; s < sequences; ++s) {
            spec.q_lengths.push_back(draw.special(0.1) ? 0 : draw.size(fewest_keys, 200));
            spec.k_lengths.push_back(equal ? spec.q_lengths.back() : draw.size(fewest_keys, 400));
        }
        return;
    }
    spec.batch = draw.between(1, 3);
    // float64 has no wider oracle, and over many keys its errors are not float32's in proportion.
    spec.keys = draw.size(fewest_keys, spec.dtype == DType::float64 ? 300 : 1500);
    const bool cached = spec.phase == Phase::prefill || spec.phase == Phase::decode;
    if (spec.phase == Phase::decode) {
        spec.queries = draw.between(1, std::min<std::int64_t>(spec.keys, 4));
    } else if (cached) {
        spec.queries = draw.size(1, spec.keys);
    } else {
        spec.queries = draw.chance(0.6) ? spec.keys : draw.size(1, 700);
    }
}

void draw_masks(AttentionSpec& spec, Draw& draw) {
    const bool packed = spec.layout == Layout::packed;
    const bool cached = spec.phase == Phase::prefill || spec.phase == Phase::decode;
    if (packed) spec.masks.insert(MaskKind::documents);
    const auto maybe = [&](MaskKind kind, double p) {
        if (draw.special(p)) spec.masks.insert(kind);
    };
    if (cached || draw.chance(0.5)) spec.masks.insert(MaskKind::causal);
    maybe(MaskKind::sliding_window, 0.25);
    maybe(MaskKind::prefix, 0.15);
    maybe(MaskKind::alibi, 0.15);
    maybe(MaskKind::relative_bias, 0.2);
    // One bucket has nearly all of many keys, so that its sum of dS is a row's, which is 0: nothing is left
    // of it but how the output was rounded to 16 bits (see above).
    if (size_of(spec.dtype) < 4 && spec.keys > 300) spec.masks.erase(MaskKind::relative_bias);
    maybe(MaskKind::soft_cap, 0.15);
    if (packed) return;
    maybe(MaskKind::key_lengths, 0.25);
    maybe(MaskKind::dense_bias, 0.2);
    if (cached) spec.offsets = spec.masks.has(MaskKind::key_lengths);
    if (!cached) spec.offsets = draw.special(0.15);
    if (cached && !spec.offsets && draw.special(0.4)) spec.page_size = draw.one_of<std::int64_t>({8, 16, 64});
}

// Scores of up to twice their usual size. With larger ones one key has nearly all of a row, except in the
// rare row where two tie: the largest error is that row's, the reference's or the candidate's by chance.
double drawn_scale(const AttentionSpec& spec, Draw& draw) {
    return static_cast<double>(draw.size(1, 20)) / 10.0 / std::sqrt(static_cast<double>(spec.head_dim));
}

void draw_numbers(AttentionSpec& spec, Draw& draw) {
    spec.window_left = draw.chance(0.2) ? -1 : draw.size(1, 600);
    spec.window_right = draw.chance(0.3) ? -1 : draw.size(1, 600) - 1;
    spec.shortest_prefix = draw.size(1, 300);
    spec.bidirectional = draw.chance(0.5);
    // Half of the buckets of a side are for one distance each, and the largest distance lies past them.
    spec.buckets = 2 * draw.size(2, 32);
    spec.max_distance = spec.buckets + draw.size(1, 300);
    spec.dense_bias = static_cast<int>(draw.between(0, 3));
    spec.infinite_bias = draw.special(0.3);
    spec.soft_cap = static_cast<double>(draw.size(5, 500)) / 10.0;
    if (draw.special(0.2)) spec.scale = drawn_scale(spec, draw);
    if (draw.special(0.2)) spec.magnitude = static_cast<double>(draw.size(3, 30)) / 10.0;
    if (draw.special(0.35)) spec.dropout = static_cast<double>(draw.between(1, 18)) / 20.0;
    if (draw.special(0.3)) spec.first_document = draw.between(1, 1000);
    if (draw.special(0.3)) spec.first_head = draw.between(1, 100);
}

void draw_calls(AttentionSpec& spec, Draw& draw) {
    if (draw.special(0.3)) {
        const auto placements = {Placement::permuted, Placement::sliced, Placement::stepped,
                                 Placement::expanded};
        spec.placement = draw.one_of(placements);
        spec.grad_placement = draw.one_of(placements);
    }
    spec.lse = draw.special(0.25);
    spec.deterministic = draw.special(0.15);
    spec.threaded = draw.special(0.2);
    if (spec.phase != Phase::train)
        spec.needs = "";
    else if (draw.special(0.3))
        spec.needs = draw.one_of<std::string>({"q", "k", "v", "qk", "kv", "qv", "qkv", "b", "qb"});
}

// As many values of scores and of inputs as a case may have, by fewer sequences, heads, then shorter ones.
void limit_work(AttentionSpec& spec) {
    constexpr std::int64_t most_scores = 300000, most_values = 400000;
    const auto too_much = [&](std::int64_t queries, std::int64_t keys, std::int64_t sequences) {
        const std::int64_t rows = sequences * spec.heads;
        return rows * queries * keys > most_scores ||
               rows * (queries + keys) * (spec.head_dim + spec.v_head_dim) > most_values;
    };
    const auto largest = [](const std::vector<std::int64_t>& lengths) {
        return *std::max_element(lengths.begin(), lengths.end());
    };
    const bool packed = spec.layout == Layout::packed;
    const auto over = [&] {
        return packed ? too_much(largest(spec.q_lengths), largest(spec.k_lengths),
                                 static_cast<std::int64_t>(spec.q_lengths.size()))
                      : too_much(spec.queries, spec.keys, spec.batch);
    };
    while (over()) {
        if (!packed && spec.batch > 1) {
            --spec.batch;
        } else if (spec.kv_heads > 1) {
            spec.heads = spec.heads / spec.kv_heads * (spec.kv_heads / 2);
            spec.kv_heads /= 2;
        } else if (spec.heads > 4) {
            spec.heads /= 2;
        } else if (packed) {
            for (std::int64_t& length : spec.q_lengths) length = (length + 1) / 2;
            for (std::int64_t& length : spec.k_lengths) length = (length + 1) / 2;
        } else {
            const bool all_seen = spec.queries <= spec.keys;  // as what comes after a cache must be
            spec.queries = (spec.queries * 3 + 3) / 4;
            spec.keys = (spec.keys * 3 + 3) / 4;
            if (all_seen) spec.keys = std::max(spec.queries, spec.keys);
        }
    }
}

// What the name's other parts do not tell.
std::string detail_of(const AttentionSpec& spec) {
    std::ostringstream text;
    const MaskSet& masks = spec.masks;
    if (spec.placement != Placement::dense)
        text << "/" << name(spec.placement) << "+" << name(spec.grad_placement);
    if (masks.has(MaskKind::sliding_window))
        text << "/window" << spec.window_left << "," << spec.window_right;
    if (masks.has(MaskKind::prefix)) text << "/prefix" << spec.shortest_prefix;
    if (masks.has(MaskKind::soft_cap)) text << "/cap" << spec.soft_cap;
    if (masks.has(MaskKind::relative_bias))
        text << "/buckets" << spec.buckets << (spec.bidirectional ? "" : "left") << "," << spec.max_distance;
    if (masks.has(MaskKind::dense_bias))
        text << "/broadcast" << spec.dense_bias << (spec.infinite_bias ? "inf" : "");
    if (spec.offsets) text << "/offsets";
    if (spec.page_size > 0) text << "/pages" << spec.page_size;
    if (spec.scale > 0.0) text << "/scale" << spec.scale;
    if (spec.magnitude != 1.0) text << "/magnitude" << spec.magnitude;
    if (spec.deterministic) text << "/deterministic";
    return text.str();
}

}  // namespace

AttentionSpec draw_attention(Draw& draw, const std::vector<DType>& dtypes) {
    AttentionSpec spec;
    spec.family = draw.family();
    spec.dtype = draw.one_of(dtypes);
    if (draw.special(0.3)) {
        spec.layout = Layout::packed;
    } else if (draw.special(0.3)) {
        spec.phase = draw.one_of({Phase::eval, Phase::prefill, Phase::decode});
    }
    spec.kv_heads = draw.size(1, 12);
    spec.heads = spec.kv_heads * (draw.special(0.5) ? draw.between(2, 8) : 1);
    spec.head_dim = draw.special(0.4) ? draw.size(1, 300) : draw.one_of<std::int64_t>({16, 32, 64, 128});
    spec.v_head_dim = draw.special(0.2) ? draw.size(1, 300) : spec.head_dim;
    draw_lengths(spec, draw);
    draw_masks(spec, draw);
    draw_numbers(spec, draw);
    draw_calls(spec, draw);
    limit_work(spec);
    spec.detail = detail_of(spec);
    return spec;
}

namespace {

// So many scores that a case takes a second or two of the oracle's time.
constexpr std::int64_t most_scores_of_all = 12000000, most_scores_of_one = 1000000;

void request_lengths(AttentionSpec& spec, const AttentionRequest& asked, RequestDraw& draw) {
    const std::int64_t most = draw.largest() ? most_scores_of_all : most_scores_of_one;
    const auto longest = static_cast<std::int64_t>(
        std::sqrt(static_cast<double>(std::max<std::int64_t>(most / spec.heads, 1))));
    // What comes after a cache has at least as many keys as queries; training's own has as many.
    const bool alike = asked.q_length == asked.kv_length && asked.phase != Phase::decode;
    const auto enough = [](Range range) {
        return Range(std::max(range.min, std::min(range.max, fewest_keys)), range.max);
    };
    spec.queries = draw.within(alike ? enough(asked.q_length) : asked.q_length, longest);
    spec.keys = alike ? spec.queries : draw.within(enough(asked.kv_length), longest);
    if (asked.phase == Phase::prefill || asked.phase == Phase::decode)
        spec.keys = std::max(spec.keys, spec.queries);
    const std::int64_t sequences =
        draw.within(asked.batch, most / (spec.heads * spec.queries * spec.keys) + 1);
    if (spec.layout == Layout::padded) {
        spec.batch = sequences;
        return;
    }
    spec.q_lengths.assign(1, spec.queries);
    spec.k_lengths.assign(1, spec.keys);
    for (std::int64_t s = 1; s < std::min<std::int64_t>(sequences, 4); ++s) {
        spec.q_lengths.push_back(draw.size(std::min<std::int64_t>(spec.queries, fewest_keys), spec.queries));
        spec.k_lengths.push_back(alike
                                     ? spec.q_lengths.back()
                                     : draw.size(std::min<std::int64_t>(spec.keys, fewest_keys), spec.keys));
    }
}

}  // namespace

OperationCase requested_case(const AttentionRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options) {
    AttentionSpec spec;
    spec.family = draw.family();
    spec.dtype = asked.dtype;
    spec.layout = asked.layout;
    spec.phase = asked.phase;
    spec.masks = asked.masks;
    spec.kv_heads = draw.within(asked.kv_heads, asked.kv_heads.max);
    spec.heads =
        std::max(draw.within(asked.heads, asked.heads.max) / spec.kv_heads, std::int64_t{1}) * spec.kv_heads;
    spec.head_dim = draw.within(asked.head_dim, asked.head_dim.max);
    spec.v_head_dim = draw.within(asked.v_head_dim, asked.v_head_dim.max);
    request_lengths(spec, asked, draw);
    draw_numbers(spec, draw);
    spec.dropout = asked.dropout;
    spec.infinite_bias = false;
    spec.magnitude = 1.0;
    spec.scale = asked.custom_scale ? drawn_scale(spec, draw) : 0.0;
    spec.offsets = asked.query_offsets && spec.layout == Layout::padded;
    spec.lse = asked.want_lse;
    if (asked.paged_cache) spec.page_size = draw.one_of<std::int64_t>({16, 64});
    spec.needs = !asked.needs_grad ? "" : asked.bias_gradient ? "qkvb" : "qkv";
    spec.deterministic = asked.deterministic;
    spec.threaded = draw.chance(0.5);
    spec.detail = detail_of(spec);
    return attention_case(spec, facts, options);
}

}  // namespace switchyard::conformance
