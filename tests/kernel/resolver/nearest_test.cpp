// The nearest request that a component would serve. To add a case: a rule that rejects, a request, the words.
#include "fakes.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

template <class R>
std::optional<std::string> nearest(const R& request, Rule<R> rule) {
    const auto row = resolve(use(request, {"x"}), {candidate<R>("x/x", 1, rule)}, test_host());
    return outcome(row, "x/x").nearest;
}

using A = AttentionRequest;

void only(bool fits, Verdict& v, Code code, const char* field, const char* expected) {
    if (!fits) v.reject(code, field, expected, "something else");
}

}  // namespace

TEST_CASE("one change is found for each kind of field") {
    const auto check = [](auto change, Rule<A> rule, const char* words) {
        auto request = attention_request();
        change(request);
        CHECK(nearest<A>(request, rule) == words);
    };
    check([](A& r) { r.head_dim = r.v_head_dim = 60; },
          [](const A& r, Verdict& v) {
              only(r.head_dim.all_multiples_of(8), v, Code::HeadDim, "head_dim", "a multiple of 8");
          },
          "head_dim 64 instead of 60");
    check([](A& r) { r.head_dim = r.v_head_dim = 320; },
          [](const A& r, Verdict& v) {
              only(r.head_dim.max <= 256 && r.v_head_dim.max <= 256, v, Code::HeadDim, "head_dim",
                   "at most 256");
          },
          "head_dim 256 instead of 320");
    check(
        [](A&) {},
        [](const A& r, Verdict& v) { only(r.dtype == DType::bfloat16, v, Code::DType, "dtype", "bfloat16"); },
        "dtype bfloat16 instead of float32");
    check([](A& r) { r.device = Device::cuda; },
          [](const A& r, Verdict& v) { only(r.device == Device::cpu, v, Code::Device, "device", "cpu"); },
          "device cpu instead of cuda");
    check([](A& r) { r.layout = Layout::packed, r.masks = {MaskKind::documents}; },
          [](const A& r, Verdict& v) {
              only(r.layout == Layout::padded && !r.masks.has(MaskKind::documents), v, Code::Layout, "layout",
                   "padded");
          },
          "layout padded instead of packed");
    check(
        [](A& r) {
            r.masks = {MaskKind::causal, MaskKind::alibi};
        },
        [](const A& r, Verdict& v) { only(!r.masks.has(MaskKind::alibi), v, Code::Mask, "mask", "causal"); },
        "without mask alibi");
    check(
        [](A& r) {
            r.masks = {MaskKind::causal, MaskKind::alibi, MaskKind::soft_cap, MaskKind::prefix};
        },
        [](const A& r, Verdict& v) {
            only(r.masks.within({MaskKind::causal}), v, Code::Mask, "masks", "causal");
        },
        "without mask prefix+alibi+soft_cap");
    check([](A& r) { r.dropout = 0.1; },
          [](const A& r, Verdict& v) { only(r.dropout == 0, v, Code::Dropout, "dropout", "0"); },
          "dropout 0 instead of 0.1");
    check([](A&) {},
          [](const A& r, Verdict& v) { only(!r.needs_grad, v, Code::Gradient, "needs_grad", "no"); },
          "needs_grad off");
    check([](A& r) { r.deterministic = true; },
          [](const A& r, Verdict& v) { only(!r.deterministic, v, Code::Determinism, "deterministic", "no"); },
          "deterministic off");
    check([](A& r) { r.kv_heads = 4; },
          [](const A& r, Verdict& v) {
              only(r.kv_heads == r.heads, v, Code::Heads, "kv_heads", "as many as heads");
          },
          "kv_heads 12 instead of 4");
    check([](A&) {},
          [](const A& r, Verdict& v) {
              only(r.q_length.max <= 256, v, Code::Sequence, "q_length", "at most 256");
          },
          "q_length 1..256 instead of 1..512");
    check(
        [](A& r) {
            r.q_length = r.kv_length = {0, 512};
        },
        [](const A& r, Verdict& v) { only(r.q_length.min >= 1, v, Code::Sequence, "q_length", "1 or more"); },
        "q_length 1..512 instead of 0..512");
    check([](A&) {},
          [](const A& r, Verdict& v) { only(r.q_length == Range(1), v, Code::Sequence, "q_length", "1"); },
          "q_length 1 instead of 1..512");
    check([](A&) {},
          [](const A& r, Verdict& v) {
              only(r.kv_length.all_multiples_of(64), v, Code::Sequence, "kv_length", "a multiple of 64");
          },
          "kv_length 512 instead of 1..512");
}

TEST_CASE("two changes are found where one is not enough") {
    auto request = attention_request(60);
    CHECK(nearest<A>(request, [](const A& r, Verdict& v) {
              only(r.head_dim.all_multiples_of(8), v, Code::HeadDim, "head_dim", "a multiple of 8");
              only(r.dtype == DType::bfloat16, v, Code::DType, "dtype", "bfloat16");
          }) == "dtype bfloat16 instead of float32; head_dim 64 instead of 60");
}

TEST_CASE("one change for each field is found where many fail") {
    auto request = attention_request(60);
    request.dropout = 0.1;
    request.deterministic = true;
    request.masks = {MaskKind::alibi};
    const auto words = nearest<A>(request, [](const A& r, Verdict& v) {
        only(r.head_dim.all_multiples_of(8), v, Code::HeadDim, "head_dim", "a multiple of 8");
        only(r.dtype == DType::float16, v, Code::DType, "dtype", "float16");
        only(r.dropout == 0, v, Code::Dropout, "dropout", "0");
        only(!r.deterministic, v, Code::Determinism, "deterministic", "no");
        only(r.masks.empty(), v, Code::Mask, "masks", "none");
    });
    CHECK(words ==
          "head_dim 64 instead of 60; dtype float16 instead of float32; dropout 0 instead of 0.1; "
          "deterministic off; "
          "without mask alibi");
}

TEST_CASE("a change is found although the reason names another field") {
    CHECK(nearest<A>(attention_request(60), [](const A& r, Verdict& v) {
              only(r.head_dim.all_multiples_of(8), v, Code::Shape, "row stride", "a multiple of 16 bytes");
          }) == "head_dim 64 instead of 60");
}

TEST_CASE("a change that brings another obstacle is not proposed alone") {
    auto request = attention_request(60);
    request.dropout = 0.1;
    CHECK(nearest<A>(request, [](const A& r, Verdict& v) {
              only(r.head_dim.all_multiples_of(8), v, Code::HeadDim, "head_dim", "a multiple of 8");
              only(r.head_dim.max <= 60 || r.dropout == 0, v, Code::Dropout, "dropout",
                   "0 for a head_dim above 60");
          }) == "head_dim 56 instead of 60");
}

TEST_CASE("nothing is proposed where the host is the obstacle") {
    CHECK_FALSE(nearest<A>(attention_request(), [](const A&, Verdict& v) {
        v.reject(Code::CpuFeature, "cpu_features", "avx512f", "avx2");
    }));
}

TEST_CASE("other kinds have their own fields") {
    OptimizerRequest optimizer;
    optimizer.algorithm = OptimizerKind::muon;
    CHECK(nearest<OptimizerRequest>(optimizer, [](const OptimizerRequest& r, Verdict& v) {
              only(r.algorithm == OptimizerKind::adamw, v, Code::Algorithm, "algorithm", "adamw");
          }) == "algorithm adamw instead of muon");
    LossRequest loss;
    loss.label_smoothing = 0.1;
    CHECK(nearest<LossRequest>(loss, [](const LossRequest& r, Verdict& v) {
              only(r.label_smoothing == 0, v, Code::Fusion, "label_smoothing", "0");
          }) == "label_smoothing 0 instead of 0.1");
    NormalizationRequest norm;
    norm.width = 100;
    CHECK(nearest<NormalizationRequest>(norm, [](const NormalizationRequest& r, Verdict& v) {
              only(r.width.all_multiples_of(16), v, Code::Width, "width", "a multiple of 16");
          }) == "width 96 instead of 100");
    PrecisionRequest precision;
    precision.loss_scaling = true;
    CHECK(nearest<PrecisionRequest>(precision, [](const PrecisionRequest& r, Verdict& v) {
              only(!r.loss_scaling, v, Code::Fusion, "loss_scaling", "no");
          }) == "loss_scaling off");
}
