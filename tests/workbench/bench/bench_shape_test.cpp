// What `switchyard bench` reads from its command line: shapes, masks, lengths. To add a case: add a line to a
// table.
#include <algorithm>

#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/bench_shape.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;
using switchyard::test::contains;

TEST_CASE("shapes are read by kind") {
    const BenchShape plain = parse_shape(Kind::attention, "8,12,512,64").shape.value();
    CHECK(plain.batch == 8);
    CHECK(plain.heads == 12);
    CHECK(plain.kv_heads == 12);
    CHECK(plain.q_length == 512);
    CHECK(plain.kv_length == 512);
    CHECK(plain.head_dim == 64);
    CHECK(plain.text == "8,12,512,64");
    const BenchShape grouped = parse_shape(Kind::attention, "1,32,8,1,4096,128").shape.value();
    CHECK(grouped.kv_heads == 8);
    CHECK(grouped.q_length == 1);
    CHECK(grouped.kv_length == 4096);
    CHECK(grouped.head_dim == 128);
    CHECK(parse_shape(Kind::normalization, "4096,768").shape->rows == 4096);
    CHECK(parse_shape(Kind::activation, "4096,3072").shape->width == 3072);
    CHECK(parse_shape(Kind::loss, "1024,30522").shape->width == 0);
    CHECK(parse_shape(Kind::loss, "1024,30522,768").shape->width == 768);
    const BenchShape linear = parse_shape(Kind::linear, "2048,768,3072").shape.value();
    CHECK(linear.rows == 2048);
    CHECK(linear.in == 768);
    CHECK(linear.out == 3072);
}

TEST_CASE("bert-base has the 199 tensors and 109.5 million values of the published model") {
    const BenchShape shape = parse_shape(Kind::optimizer, "bert-base").shape.value();
    CHECK(shape.tensors.size() == 199);
    CHECK(shape.values() == 109482240);
}

TEST_CASE("tensors of an optimizer can be written one by one") {
    const BenchShape shape = parse_shape(Kind::optimizer, "3x768x512,100x10,768").shape.value();
    CHECK(shape.tensors ==
          std::vector<std::vector<std::int64_t>>{{768, 512}, {768, 512}, {768, 512}, {100, 10}, {768}});
    CHECK(shape.values() == 3 * 768 * 512 + 1000 + 768);
}

TEST_CASE("every kind has default shapes that can be read") {
    for (const Kind kind : all_kinds) {
        if (!facts_of(kind).measured) continue;
        REQUIRE_FALSE(default_shapes(kind).empty());
        for (const std::string& text : default_shapes(kind)) CHECK(parse_shape(kind, text).shape.has_value());
    }
}

TEST_CASE("a shape that cannot be meant is told with what is taken instead") {
    struct Bad {
        Kind kind;
        const char* text;
        const char* error;
    };
    const Bad cases[] = {
        {Kind::attention, "8,x,512,64",
         "--shape 8,x,512,64: 'x' is not a whole number; attention takes B,H,N,D (batch, heads, length, "
         "head_dim) or B,H,K,N,M,D (with kv heads, "
         "queries, keys)"},
        {Kind::attention, "8,0,512,64", "a dimension must be 1 or more, not 0"},
        {Kind::attention, "8,-1,512,64", "a dimension must be 1 or more, not -1"},
        {Kind::attention, "8,12,512", "3 numbers"},
        {Kind::attention, "8,12,,64", "a number is missing"},
        {Kind::attention, "", "a number is missing"},
        {Kind::attention, "1,12,5,64,64,64", "12 heads are not a multiple of 5 kv heads"},
        {Kind::attention, "8,12,99999999999999999999,64", "99999999999999999999 is too large"},
        {Kind::attention, "100000,100000,100000,64", "more than 2^36 values"},
        {Kind::normalization, "4096", "1 number; normalization takes ROWS,WIDTH"},
        {Kind::normalization, "4096,7.5", "'7.5' is not a whole number"},
        {Kind::activation, "1,2,3", "3 numbers"},
        {Kind::loss, "8,1", "a loss needs 2 classes or more"},
        {Kind::linear, "2048,768", "--shape 2048,768: 2 numbers; linear takes ROWS,IN,OUT"},
        {Kind::linear, "4,4,4,4", "4 numbers; linear takes ROWS,IN,OUT"},
        {Kind::linear, "2048,768,0", "a dimension must be 1 or more, not 0"},
        {Kind::linear, "2048,,3072", "a number is missing"},
        {Kind::linear, "1,1000000,1000000", "more than 2^36 values"},
        {Kind::linear, "1000000,100000,1", "more than 2^36 values"},
        {Kind::linear, "1000000,1,100000", "more than 2^36 values"},
        {Kind::optimizer, "bert-huge",
         "'bert-huge' is not a whole number; optimizer takes bert-base, mini-gpt"},
        {Kind::optimizer, "2x3x4x5", "'2x3x4x5' has more than COUNT, ROWS and COLUMNS"},
        {Kind::optimizer, "1000000x1x1", "more than 100000 tensors"},
    };
    for (const Bad& bad : cases) {
        const ShapeResult result = parse_shape(bad.kind, bad.text);
        CHECK_FALSE(result.shape.has_value());
        CHECK_THAT(result.error, contains(bad.error));
    }
}

TEST_CASE("masks are read with their values") {
    BenchSettings settings;
    for (const char* text : {"causal", "sliding_window=128", "prefix=16", "alibi", "relative_bias",
                             "soft_cap=30.5", "key_lengths=10-50"}) {
        CHECK(read_mask(text, settings).empty());
    }
    CHECK(settings.masks() == MaskSet{MaskKind::causal, MaskKind::sliding_window, MaskKind::prefix,
                                      MaskKind::alibi, MaskKind::relative_bias, MaskKind::soft_cap,
                                      MaskKind::key_lengths});
    CHECK(settings.window == 128);
    CHECK(settings.relative_buckets == 32);
    CHECK(settings.soft_cap == 30.5);
    CHECK(settings.describe() ==
          "causal, lengths 10-50, sliding_window 128, prefix 16, alibi, relative_bias 32, soft_cap 30.5");
    BenchSettings packed;
    CHECK(read_mask("documents", packed).empty());
    CHECK(packed.masks() == MaskSet{MaskKind::documents});
}

TEST_CASE("what is special about a bench is told of the kinds that have it") {
    BenchSettings settings;
    settings.bias = settings.residual = settings.in_place = true;
    settings.dropout = settings.label_smoothing = settings.z_loss = 0.1;
    settings.max_grad_norm = 1.0;
    const auto of = [&](Kind kind) {
        settings.kind = kind;
        return settings.describe();
    };
    CHECK(of(Kind::attention) == "dropout 0.100");
    CHECK(of(Kind::normalization) == "layer_norm, bias, residual, dropout 0.100");
    CHECK(of(Kind::activation) == "gelu_erf, bias, dropout 0.100");
    CHECK(of(Kind::linear) == "bias");
    CHECK(of(Kind::loss) == "label_smoothing 0.100, z_loss 0.100, in place");
    CHECK(of(Kind::optimizer) == "adamw, clip 1.00");
}

TEST_CASE("a mask that cannot be meant is told") {
    BenchSettings settings;
    CHECK_THAT(read_mask("casual", settings), contains("'casual' is not a mask; known: causal, key_lengths"));
    CHECK_THAT(read_mask("sliding_window", settings),
               contains("sliding_window needs a whole number above 0, as in sliding_window=128"));
    CHECK_THAT(read_mask("prefix=-2", settings), contains("prefix needs a whole number above 0"));
    CHECK_THAT(read_mask("soft_cap=warm", settings), contains("soft_cap needs a number above 0"));
    CHECK_THAT(read_mask("causal=1", settings), contains("causal takes no value"));
    CHECK_THAT(read_mask("key_lengths=9-3", settings), contains("'9-3' is neither a range of lengths"));
    CHECK(read_mask("key_lengths=40:512", settings) == "");
    CHECK(settings.lengths->text() == "40:512");
    CHECK_THAT(read_mask("key_lengths=40:3", settings),
               contains("'40:3' is not a median and a largest length"));
    CHECK_THAT(read_mask("key_lengths=0:3", settings), contains("is not a median"));
}

TEST_CASE("lengths around a median: half of them up to it, few much longer, none above the largest") {
    const LengthRange range{20, 512, 40};
    CHECK(range.at(0.0) == 20);
    CHECK(range.at(0.4999) == 40);
    CHECK(range.at(0.5) == 40);
    CHECK(range.at(0.9) < 90);
    CHECK(range.at(0.9999) > 490);
    CHECK(range.at(0.9999) <= 512);
    CHECK(LengthRange{8, 64}.at(0.0) == 8);
    CHECK(LengthRange{8, 64}.at(0.99999) == 64);
    CHECK(LengthRange{8, 64}.text() == "8-64");
}

TEST_CASE("what does not fit together is told before anything runs") {
    BenchSettings settings;
    const BenchShape shape = parse_shape(Kind::attention, "2,4,4,16,32,8").shape.value();
    settings.lengths = LengthRange{1, 64};
    CHECK(check_settings(settings, shape) == "lengths up to 64 do not fit --shape 2,4,4,16,32,8");
    settings.lengths = LengthRange{1, 16};
    CHECK(check_settings(settings, shape).empty());
    settings.layout = Layout::packed;
    CHECK_THAT(check_settings(settings, shape), contains("need as many queries as keys"));
    settings.lengths.reset();
    settings.dense_bias = true;
    CHECK(check_settings(settings, shape) == "dense_bias exists in the padded layout only");
    settings.dense_bias = false;
    settings.relative_buckets = 3;
    CHECK(check_settings(settings, shape) ==
          "relative_bias has 3 buckets: at least 4 are needed, 2 for the keys on each side");
    settings.causal = true;
    CHECK(check_settings(settings, shape) == "");
}
