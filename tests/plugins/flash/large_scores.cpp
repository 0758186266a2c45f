#include "large_scores.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <switchyard/reference/attention.h>

namespace switchyard::test {
namespace {

constexpr std::int64_t heads = 2, head_dim = 16;  // a scale of 1/4: exact
constexpr float infinity = std::numeric_limits<float>::infinity();

at::Tensor integers(at::IntArrayRef sizes, std::int64_t most, double unit) {
    return at::randint(-most, most + 1, sizes, at::TensorOptions().dtype(at::kFloat)).mul_(unit);
}

LargeScores problem_of(std::string name, at::ScalarType type, const at::Tensor& q, const at::Tensor& k) {
    LargeScores problem{
        std::move(name), {q.to(type), k.to(type), at::randn_like(k).to(type), {}, {}}, {}, {}};
    problem.params.want_lse = true;
    problem.grad_out = at::randn_like(q).to(type);
    return problem;
}

// Scores of about +-2^power: the first number of each row makes them large, the rest makes them differ, by as
// little as float32 can hold.
LargeScores of_size(int power, bool positive, at::ScalarType type, std::int64_t queries, std::int64_t keys) {
    const int both = power + 2, half = both / 2;  // the scale takes 2^2
    const double unit = std::ldexp(1.0, std::max(0, both - 21));
    const at::Tensor q = integers({1, heads, queries, head_dim}, 2, 1.0),
                     k = integers({1, heads, keys, head_dim}, 2, unit);
    q.select(-1, 0).fill_(std::ldexp(positive ? 1.0 : -1.0, half));
    k.select(-1, 0).fill_(std::ldexp(1.0, both - half));
    return problem_of(std::string(positive ? "" : "-") + "2^" + std::to_string(power), type, q, k);
}

// Each row of the bias has one number, or two in turn. Keys are alike, so that adding to a score can't round
// some of them to another.
LargeScores with_bias(at::ScalarType type, std::int64_t queries, std::int64_t keys) {
    constexpr float lowest = std::numeric_limits<float>::lowest();
    const std::vector<std::pair<float, float>> rows{
        {lowest, lowest}, {-1e9F, -1e9F}, {0.0F, 0.0F},     {-1e30F, -1e30F},       {-infinity, -infinity},
        {0.0F, -1e9F},    {0.0F, lowest}, {lowest, -1e30F}, {-infinity, lowest},    {1e9F, 1e9F},
        {1e30F, 1e30F},   {-1e9F, 0.0F},  {1e30F, lowest},  {-infinity, -infinity},
    };
    const at::Tensor q = integers({1, heads, queries, head_dim}, 2, 1.0),
                     k = integers({1, heads, 1, head_dim}, 2, 1.0).expand({1, heads, keys, head_dim});
    LargeScores problem = problem_of("dense bias", type, q, k.contiguous());
    problem.params.mask.kinds.insert(MaskKind::dense_bias);
    problem.inputs.dense_bias = at::empty({queries, keys}, at::TensorOptions().dtype(at::kFloat));
    for (std::int64_t i = 0; i < queries; ++i) {
        const auto& [even, odd] = rows[static_cast<std::size_t>(i) % rows.size()];
        auto row = problem.inputs.dense_bias.select(0, i);
        row.fill_(even);
        row.slice(0, 1, std::nullopt, 2).fill_(odd);
    }
    return problem;
}

// What a number of `type` is rounded by, a few times over.
double tolerance(at::ScalarType type) { return type == at::kFloat ? 1e-5 : type == at::kHalf ? 4e-3 : 3e-2; }

// Largest difference relative to the largest number there should be, or to `least`.
void compare(std::ostringstream& text, const char* name, const at::Tensor& found, const at::Tensor& expected,
             double least, double allowed) {
    if (!expected.defined()) return;
    const at::Tensor a = found.to(at::kDouble), b = expected.to(at::kDouble);
    const at::Tensor same_infinity = a.eq(b).logical_and(b.isinf());
    const at::Tensor error = a.sub(b).abs().masked_fill(same_infinity, 0.0);
    const auto largest = std::max(b.masked_fill(b.isinf(), 0.0).abs().max().item<double>(), least);
    const auto worst = error.max().item<double>() / largest;
    if (!(worst <= allowed)) text << name << " is off by " << worst << " of " << largest << "\n";
}

void compare_outputs(std::ostringstream& text, const LargeScores& problem, const AttentionOutputs& found,
                     const AttentionOutputs& expected) {
    compare(text, "out", found.out, expected.out, 1e-3, tolerance(problem.inputs.q.scalar_type()));
    // Each by itself, for a row's log-sum-exp may be -1e38 and that of the next 3.
    const at::Tensor size = expected.lse.abs().clamp_min(1.0);
    const at::Tensor none = expected.lse.isinf();
    compare(text, "lse", found.lse.to(at::kDouble).div(size.masked_fill(none, 1.0)),
            expected.lse.div(size.masked_fill(none, 1.0)), 1.0, 1e-6);
}

}  // namespace

std::vector<LargeScores> large_scores(at::ScalarType type, std::int64_t queries, std::int64_t keys) {
    std::vector<LargeScores> all;
    for (const int power : {10, 20, 24, 32, 40}) {
        if (type == at::kHalf && power > 28) continue;  // its largest number is 2^16
        for (const bool positive : {true, false})
            all.push_back(of_size(power, positive, type, queries, keys));
    }
    all.push_back(with_bias(type, queries, keys));
    return all;
}

AttentionResults in_float64(const LargeScores& problem) {
    AttentionInputs inputs = problem.inputs;
    for (auto* x : {&inputs.q, &inputs.k, &inputs.v, &inputs.dense_bias})
        if (x->defined()) *x = x->detach().to(at::kDouble).set_requires_grad(true);
    AttentionResults results;
    results.outputs = reference::attention(inputs, problem.params);
    results.outputs.out.backward(problem.grad_out.to(at::kDouble));
    results.grads = {inputs.q.grad(),
                     inputs.k.grad(),
                     inputs.v.grad(),
                     {},
                     inputs.dense_bias.defined() ? inputs.dense_bias.grad() : at::Tensor()};
    return results;
}

std::string output_differences(const LargeScores& problem, const AttentionOutputs& found,
                               const AttentionOutputs& expected) {
    std::ostringstream text;
    compare_outputs(text, problem, found, expected);
    return text.str();
}

std::string differences(const LargeScores& problem, const AttentionResults& found,
                        const AttentionResults& expected) {
    std::ostringstream text;
    compare_outputs(text, problem, found.outputs, expected.outputs);
    const double allowed = tolerance(problem.inputs.q.scalar_type());
    compare(text, "dv", found.grads.v, expected.grads.v, 1e-3, allowed);
    compare(text, "d bias", found.grads.dense_bias, expected.grads.dense_bias, 1e-3, allowed);
    // Where all of a row's gradients of scores are rounding, what they are multiplied by says how much that
    // is. The first number of a row is not like the others: of what it is multiplied by the sum is zero but
    // for rounding.
    const auto rest = [](const at::Tensor& x) { return x.narrow(-1, 1, head_dim - 1); };
    const auto most = [&](const at::Tensor& x) { return rest(x).abs().max().item<double>(); };
    compare(text, "dq", rest(found.grads.q), rest(expected.grads.q), most(problem.inputs.k), allowed);
    compare(text, "dk", rest(found.grads.k), rest(expected.grads.k), most(problem.inputs.q), allowed);
    return text.str();
}

}  // namespace switchyard::test
