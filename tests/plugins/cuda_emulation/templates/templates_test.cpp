// The CUDA kernels of the templates against the float64 reference: the conformance suite's own cases, listed
// and drawn, with the emulator as the device.
#include <set>
#include <string>
#include <vector>

#include <faults.h>
#include <switchyard_test.h>

#include "emulated_templates.h"
#include "grid_emulation.h"
#include "start.h"

using namespace switchyard;

namespace {

// Warps run in ascending order in one case and in descending order in the next.
conformance::Report verify(Kind kind) {
    conformance::VerifyOptions options;
    options.dtypes = {DType::float32};
    options.drawn = 10;
    options.on_case = [](const std::string&) {
        emulation::last_warp_first() = !emulation::last_warp_first();
    };
    const auto report = conformance::verify(test::emulated_template(kind), options);
    emulation::last_warp_first() = false;
    return report;
}

std::set<std::string> refused_fields(Kind kind, const Request& request) {
    std::set<std::string> fields;
    for (const auto& reason : test::verdict_of(kind, request).reasons) fields.insert(reason.field);
    return fields;
}

}  // namespace

TEST_CASE("what a template's kernel serves, it computes as the reference does") {
    struct Served {
        Kind kind;
        std::int64_t least;  // cases that are not refused
    };
    const auto served = GENERATE(values<Served>({{Kind::activation, 10},
                                                 {Kind::attention, 80},
                                                 {Kind::linear, 100},
                                                 {Kind::loss, 60},
                                                 {Kind::normalization, 60},
                                                 {Kind::optimizer, 25}}));
    INFO(name(served.kind));
    const auto report = verify(served.kind);
    CHECK(test::faults(report) == "");
    CHECK(report.cases >= served.least);
    CHECK(emulation::guards() == 0);
    CHECK(emulation::unchecked() == 0);
}

TEST_CASE("what a template's kernel cannot do is refused, field by field") {
    using Fields = std::set<std::string>;
    LossRequest loss;
    CHECK(refused_fields(Kind::loss, loss) == Fields{});
    loss.dtype = DType::bfloat16, loss.projection = true, loss.label_smoothing = 0.1;
    loss.loss = LossKind::mean_squared_error;
    CHECK(refused_fields(Kind::loss, loss) == Fields{"dtype", "label_smoothing", "loss", "projection"});

    LinearRequest linear;
    CHECK(refused_fields(Kind::linear, linear) == Fields{});
    linear.dtype = DType::float64, linear.weight_format = WeightFormat::quantized;
    CHECK(refused_fields(Kind::linear, linear) ==
          Fields{"dtype", "output_dtype", "weight_dtype", "weight_format"});

    OptimizerRequest optimizer;
    CHECK(refused_fields(Kind::optimizer, optimizer) == Fields{});
    optimizer.algorithm = OptimizerKind::muon, optimizer.dtype = optimizer.gradient_dtype = DType::bfloat16;
    optimizer.master_weights = optimizer.clip = optimizer.unscale = true;
    CHECK(refused_fields(Kind::optimizer, optimizer) ==
          Fields{"algorithm", "clip", "dtype", "gradient_dtype", "master_weights", "unscale"});

    AttentionRequest attention;
    attention.masks = {MaskKind::causal, MaskKind::key_lengths};
    attention.custom_scale = true, attention.heads = 8, attention.kv_heads = 2;
    CHECK(refused_fields(Kind::attention, attention) == Fields{});
    attention.dtype = DType::float16, attention.layout = Layout::packed, attention.masks = {MaskKind::alibi};
    attention.head_dim = 129, attention.v_head_dim = {64, 256}, attention.dropout = 0.1;
    attention.paged_cache = attention.query_offsets = attention.want_lse = true;
    CHECK(refused_fields(Kind::attention, attention) == Fields{"dropout", "dtype", "head_dim", "layout",
                                                               "masks", "paged_cache", "query_offsets",
                                                               "v_head_dim", "want_lse"});
}
