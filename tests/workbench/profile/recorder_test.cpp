// What is written down of LibTorch's operators: which, in which order, what they compute and move. The
// oracles are sizes that are known.
#include "core/workbench/profile/recorder.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include "core/workbench/profile/attribution.h"
#include "core/workbench/profile/call_costs.h"

#include <switchyard_test.h>

using namespace switchyard;
using profile::EventKind;

namespace {

const profile::Event* find(const profile::Recording& recording, const std::string& name) {
    const auto found = std::ranges::find_if(
        recording.events, [&](const auto& event) { return recording.name_of(event) == name; });
    return found == recording.events.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a product of matrices has two operations for each multiplication, and the bytes of its operands") {
    const auto a = at::ones({3, 5}), b = at::ones({5, 7});
    profile::Recorder recorder;
    {
        const profile::Observing observing(recorder);
        const profile::StepScope scope(recorder, "step");
        (void)at::mm(a, b);
    }
    const auto recording = recorder.take();
    const auto* const mm = find(recording, "aten::mm");
    REQUIRE(mm != nullptr);
    CHECK(mm->cost.flops == 2.0 * 3 * 5 * 7);
    CHECK(mm->cost.read == 4.0 * (3 * 5 + 5 * 7));
    CHECK(mm->cost.written == 4.0 * 3 * 7);
    CHECK(mm->parent == 0);
    CHECK(recording.events[0].begin <= mm->begin);
    CHECK(mm->begin <= mm->end);
    CHECK(mm->end <= recording.events[0].end);
}

TEST_CASE("views and empty memory move nothing, an operator in place writes what it is given") {
    auto a = at::ones({4, 6});
    profile::Recorder recorder;
    {
        const profile::Observing observing(recorder);
        (void)a.transpose(0, 1);
        (void)at::empty({100});
        a.mul_(2.0);
    }
    const auto recording = recorder.take();
    REQUIRE(find(recording, "aten::transpose") != nullptr);
    CHECK_FALSE(find(recording, "aten::transpose")->cost.any());
    CHECK_FALSE(find(recording, "aten::empty")->cost.any());
    const auto* const mul = find(recording, "aten::mul_");
    REQUIRE(mul != nullptr);
    CHECK(mul->cost.written == 4.0 * 24);
    CHECK(mul->cost.read >= 4.0 * 24);
}

TEST_CASE("a node of backward is linked with the operator that it is the backward of") {
    const auto a = at::ones({3, 5}).requires_grad_(), b = at::ones({5, 7});
    profile::Recorder recorder;
    {
        const profile::Observing observing(recorder);
        const auto y = at::mm(a, b).relu().sum();
        y.backward();
    }
    const auto recording = recorder.take();
    const auto* const node = find(recording, "MmBackward0");
    REQUIRE(node != nullptr);
    CHECK(node->kind == EventKind::node);
    REQUIRE(node->forward >= 0);
    CHECK(recording.name_of(recording.events[static_cast<std::size_t>(node->forward)]) == "aten::mm");
    const auto* const relu = find(recording, "ReluBackward0");
    REQUIRE(relu != nullptr);
    REQUIRE(relu->forward >= 0);
    CHECK(recording.name_of(recording.events[static_cast<std::size_t>(relu->forward)]) == "aten::relu");
}

TEST_CASE("nothing is written down when nobody observes") {
    profile::Recorder recorder;
    { const profile::Observing observing(recorder); }
    (void)at::ones({3});
    CHECK(recorder.take().events.empty());
    CHECK(runtime::call_timer() == nullptr);
}

TEST_CASE("pairs of an attention are those that its mask leaves in") {
    AttentionParams params;
    const auto q = at::empty({2, 1, 4, 8}), k = at::empty({2, 1, 6, 8});
    CHECK(profile::visible_pairs(params, q, k) == 2 * 4 * 6);
    params.mask.kinds = {MaskKind::causal};
    // The last of four queries sees all six keys, the first three.
    CHECK(profile::visible_pairs(params, q, k) == 2 * (3 + 4 + 5 + 6));
    params.mask.kinds = {MaskKind::key_lengths};
    params.mask.key_lengths = at::tensor({2, 5}, at::kInt);
    CHECK(profile::visible_pairs(params, q, k) == 4 * (2 + 5));

    AttentionParams prefixed;
    prefixed.mask.kinds = {MaskKind::causal, MaskKind::prefix};
    prefixed.mask.prefix_lengths = at::tensor({5, 0}, at::kInt);
    CHECK(profile::visible_pairs(prefixed, q, k) == (5 + 5 + 5 + 6) + (3 + 4 + 5 + 6));
    prefixed.mask.kinds = {MaskKind::causal, MaskKind::sliding_window, MaskKind::prefix};
    prefixed.mask.window_left = 1;
    prefixed.mask.prefix_lengths = at::tensor({2, 0}, at::kInt);
    CHECK(profile::visible_pairs(prefixed, q, k) == (3 + 4 + 4 + 4) + (2 + 2 + 2 + 2));

    AttentionParams packed;
    packed.layout = Layout::packed;
    packed.mask.kinds = {MaskKind::causal};
    packed.mask.cu_seqlens_q = packed.mask.cu_seqlens_k = at::tensor({0, 3, 8}, at::kInt);
    const auto rows = at::empty({8, 1, 8});
    CHECK(profile::visible_pairs(packed, rows, rows) == (1 + 2 + 3) + (1 + 2 + 3 + 4 + 5));
    packed.mask.kinds = {MaskKind::causal, MaskKind::sliding_window};
    packed.mask.window_left = 1;
    CHECK(profile::visible_pairs(packed, rows, rows) == (1 + 2 + 2) + (1 + 2 + 2 + 2 + 2));
}
