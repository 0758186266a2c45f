// Wide requests that the core composes from narrower ones. To add a case: a rule that refuses a part.
#include "fakes.h"

#include "core/kernel/resolver/compose.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

NormalizationRequest wide_norm() {
    NormalizationRequest request;
    request.input_bias = request.residual = true;
    request.dropout = 0.1;
    return request;
}

template <class R>
std::vector<resolver::Composed> parts(const R& request) {
    std::vector<resolver::Composed> list;
    for (const auto& each : resolver::narrowings(kind_of<R>, std::make_shared<R>(request)))
        list.push_back(each.parts);
    return list;
}

}  // namespace

TEST_CASE("a component that serves the wide operation gets all of it") {
    const auto row =
        resolve(use(wide_norm(), {"x"}), {candidate<NormalizationRequest>("x/x", 1)}, test_host());
    CHECK(row.chosen->composed.empty());
    CHECK(static_cast<const NormalizationRequest&>(*row.chosen->request).residual);
}

TEST_CASE("what a normalization does not fuse is done around it, from the inside out") {
    const auto plain_only =
        candidate<NormalizationRequest>("plain/plain", 1, [](const NormalizationRequest& r, Verdict& v) {
            if (r.residual) v.reject(Code::Fusion, "residual", "no", "yes");
        });
    auto row = resolve(use(wide_norm(), {"plain"}), {plain_only}, test_host());
    REQUIRE(row.chosen);
    CHECK(row.chosen->composed == resolver::Composed{"bias", "dropout", "residual"});
    const auto& narrow = static_cast<const NormalizationRequest&>(*row.chosen->request);
    CHECK_FALSE(narrow.residual);
    CHECK_FALSE(narrow.input_bias);
    CHECK(narrow.dropout == 0.0);
    CHECK(static_cast<const NormalizationRequest&>(*row.use.request).residual);

    const auto no_bias =
        candidate<NormalizationRequest>("nb/nb", 1, [](const NormalizationRequest& r, Verdict& v) {
            if (r.input_bias) v.reject(Code::Fusion, "input_bias", "no", "yes");
        });
    row = resolve(use(wide_norm(), {"nb"}), {no_bias}, test_host());
    CHECK(row.chosen->composed == resolver::Composed{"bias"});
    CHECK(static_cast<const NormalizationRequest&>(*row.chosen->request).dropout == 0.1);
}

TEST_CASE("the parts that can be taken off keep the order of the computation") {
    using List = std::vector<resolver::Composed>;
    CHECK(parts(wide_norm()) == List{{}, {"bias"}, {"bias", "dropout"}, {"bias", "dropout", "residual"}});
    auto norm = wide_norm();
    norm.input_bias = false;
    CHECK(parts(norm) == List{{}, {"dropout"}, {"dropout", "residual"}});
    CHECK(parts(NormalizationRequest{}) == List{{}});

    ActivationRequest activation;
    activation.input_bias = true;
    activation.dropout = 0.1;
    CHECK(parts(activation) == List{{}, {"bias"}, {"dropout"}, {"bias", "dropout"}});

    LossRequest loss;
    loss.projection = loss.projection_bias = true;
    loss.width = 768;
    CHECK(parts(loss) == List{{}, {"projection"}});

    OptimizerRequest optimizer;
    optimizer.clip = optimizer.unscale = true;
    CHECK(parts(optimizer) == List{{}, {"unscale"}, {"unscale", "clip"}});
    CHECK(parts(attention_request()) == List{{}});
}

TEST_CASE("keys taken out of pages are padded rows, each of which ends with its queries") {
    auto request = attention_request();
    request.phase = Phase::decode;
    request.needs_grad = false;
    request.paged_cache = true;
    const auto no_pages = candidate<AttentionRequest>("x/x", 1, [](const AttentionRequest& r, Verdict& v) {
        if (r.paged_cache) v.reject(Code::Layout, "paged_cache", "false", "true");
    });
    const auto row = resolve(use(request, {"x"}), {no_pages}, test_host());
    REQUIRE(row.chosen);
    CHECK(row.chosen->composed == resolver::Composed{"pages"});
    const auto& narrow = static_cast<const AttentionRequest&>(*row.chosen->request);
    CHECK_FALSE(narrow.paged_cache);
    CHECK(narrow.masks.has(MaskKind::key_lengths));
    CHECK(narrow.query_offsets);

    // So what serves no offsets serves no pages.
    const auto no_offsets = candidate<AttentionRequest>("x/x", 1, [](const AttentionRequest& r, Verdict& v) {
        if (r.paged_cache) v.reject(Code::Layout, "paged_cache", "false", "true");
        if (r.query_offsets) v.reject(Code::Sequence, "query_offsets", "false", "true");
    });
    CHECK_FALSE(resolve(use(request, {"x"}), {no_offsets}, test_host()).chosen);
}

TEST_CASE("a loss without projection gets logits") {
    LossRequest request;
    request.projection = request.projection_bias = true;
    request.width = 768;
    request.classes = 1000;
    const auto logits_only = candidate<LossRequest>("x/x", 1, [](const LossRequest& r, Verdict& v) {
        if (r.projection) v.reject(Code::Fusion, "projection", "no", "yes");
    });
    const auto row = resolve(use(request, {"x"}), {logits_only}, test_host());
    CHECK(row.chosen->composed == resolver::Composed{"projection"});
    const auto& narrow = static_cast<const LossRequest&>(*row.chosen->request);
    CHECK(narrow.width == Range(0));
    CHECK_FALSE(narrow.projection_bias);
    CHECK(narrow.classes == Range(1000));
}

TEST_CASE("reasons are those for the request as it is, when no narrower one is served") {
    const auto picky =
        candidate<NormalizationRequest>("x/x", 1, [](const NormalizationRequest& r, Verdict& v) {
            if (r.residual) v.reject(Code::Fusion, "residual", "no", "yes");
            if (r.dtype != DType::bfloat16) v.reject(Code::DType, "dtype", "bfloat16", "float32");
        });
    const auto row = resolve(use(wide_norm(), {"x"}), {picky}, test_host());
    CHECK_FALSE(row.chosen);
    CHECK(outcome(row, "x/x").reasons.size() == 2);
    CHECK(outcome(row, "x/x").nearest == "dtype bfloat16 instead of float32");
}
