// What conformance does not see of flash and chunked: bits that do not depend on threads, memory that is
// never read, memory that is never asked for. To add a case to the first two tests: a Problem.
#include "builtin.h"

#include <limits>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Functions.h>

#include <switchyard/conformance/threads.h>
#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/attention.h>
#include "core/kernel/machine/cpu_allocator.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

at::Tensor random(at::IntArrayRef sizes, at::ScalarType type) {
    return at::randn(sizes, at::TensorOptions().dtype(at::kFloat)).to(type);
}

at::Tensor numbers(const std::vector<int>& list) {
    return at::tensor(at::ArrayRef<int>(list), at::TensorOptions().dtype(at::kInt));
}

struct Problem {
    std::string name;
    AttentionInputs inputs;
    AttentionParams params;
};

Problem padded(std::string name, MaskSet kinds, std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
               std::int64_t queries, std::int64_t keys, at::ScalarType type = at::kFloat) {
    Problem problem{std::move(name),
                    {random({batch, heads, queries, 32}, type), random({batch, kv_heads, keys, 32}, type),
                     random({batch, kv_heads, keys, 32}, type), at::Tensor(), at::Tensor()},
                    AttentionParams()};
    problem.params.mask.kinds = kinds;
    if (kinds.has(MaskKind::relative_bias)) problem.inputs.relative_bias = random({16, heads}, at::kFloat);
    return problem;
}

Problem with_dense(at::IntArrayRef sizes) {
    Problem problem = padded("dense", {MaskKind::dense_bias}, 2, 4, 2, 70, 1100);
    problem.inputs.dense_bias = random(sizes, at::kFloat);
    for (const auto size : sizes) problem.name += " " + std::to_string(size);
    return problem;
}

Problem packed(at::ScalarType type) {
    Problem problem{"packed",
                    {random({1210, 4, 32}, type), random({1210, 2, 32}, type), random({1210, 2, 32}, type),
                     at::Tensor(), at::Tensor()},
                    AttentionParams()};
    problem.params.layout = Layout::packed;
    problem.params.mask.kinds = {MaskKind::documents, MaskKind::causal};
    problem.params.mask.cu_seqlens_q = problem.params.mask.cu_seqlens_k = numbers({0, 40, 40, 1170, 1210});
    problem.params.dropout = {0.2, 7};
    return problem;
}

std::vector<Problem> problems() {
    std::vector<Problem> all;
    for (const auto type : {at::kFloat, at::kBFloat16}) {
        all.push_back(padded("one head", {MaskKind::causal}, 1, 1, 1, 130, 2000, type));
        all.push_back(
            padded("relative", {MaskKind::causal, MaskKind::relative_bias}, 1, 4, 1, 200, 1100, type));
        all.push_back(packed(type));
    }
    all.back().params.mask.kinds.insert(MaskKind::relative_bias);
    all.back().inputs.relative_bias = random({16, 4}, at::kFloat);
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{2, 4, 70, 1100},
                                                   {4, 70, 1100},
                                                   {2, 1, 1, 1100},
                                                   {70, 1100},
                                                   {2, 4, 70, 1}})
        all.push_back(with_dense(sizes));
    return all;
}

std::vector<at::Tensor> run(Attention& attention, const Problem& problem) {
    Saved saved;
    at::manual_seed(3);
    const at::Tensor out = attention.forward(problem.inputs, problem.params, &saved).out;
    const at::Tensor grad = random(out.sizes(), out.scalar_type());
    const AttentionNeeds needs{true, true, true, problem.inputs.relative_bias.defined(),
                               problem.inputs.dense_bias.defined()};
    const auto grads = attention.backward(problem.params, saved, grad, needs);
    return {out, grads.q, grads.k, grads.v, grads.relative_bias, grads.dense_bias};
}

bool same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].defined() != b[i].defined()) return false;
        if (a[i].defined() && !at::equal(a[i], b[i])) return false;
    }
    return true;
}

// LibTorch fills what `empty` gives out: bytes with 255, which are NaN in every type.
class FilledMemory {
public:
    FilledMemory() {
        at::globalContext().setDeterministicAlgorithms(true, true);
        at::globalContext().setDeterministicFillUninitializedMemory(true);
    }
    ~FilledMemory() { at::globalContext().setDeterministicAlgorithms(false, false); }
    FilledMemory(const FilledMemory&) = delete;
    FilledMemory& operator=(const FilledMemory&) = delete;
};

std::int64_t extra_bytes(const std::string& plugin, const Options& options, const AttentionInputs& given) {
    const AttentionRequest request;
    const auto attention = test::make<Attention>(plugin, plugin, request, "", options);
    AttentionInputs inputs = given;
    const at::Tensor grad = at::ones_like(inputs.q);
    machine::reset_cpu_peak();
    const std::int64_t before = machine::cpu_memory_stats().live_bytes;
    if (plugin == "naive") {
        for (auto* x : {&inputs.q, &inputs.k, &inputs.v}) *x = x->detach().set_requires_grad(true);
        attention->forward(inputs, {}, nullptr).out.backward(grad);
    } else {
        Saved saved;
        attention->forward(inputs, {}, &saved);
        attention->backward({}, saved, grad, {});
    }
    return machine::cpu_memory_stats().peak_bytes - before;
}

}  // namespace

TEST_CASE("results are the same bits whatever the threads") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("flash", "flash", request);
    at::manual_seed(1);
    for (const Problem& problem : problems()) {
        INFO(problem.name);
        std::vector<at::Tensor> one;
        for (const int threads : {1, 2, 3, 8}) {
            const conformance::Threads several(threads);
            auto found = run(*attention, problem);
            if (one.empty()) {
                one = std::move(found);
            } else {
                CHECK(same(one, found));
            }
        }
    }
}

TEST_CASE("biases and long rows have the reference's gradients") {
    const AttentionRequest request;
    const auto flash = test::make<Attention>("flash", "flash", request);
    const auto chunked = test::make<Attention>("chunked", "chunked", request);
    at::manual_seed(2);
    for (const Problem& problem : problems()) {
        if (problem.inputs.q.scalar_type() != at::kFloat) continue;
        INFO(problem.name);
        const conformance::Threads several(2);
        const auto found = run(*flash, problem), expected = run(*chunked, problem);
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!expected[i].defined()) continue;
            INFO("result " << i);
            // The gradient of what is the same for all keys is zero but for rounding.
            CHECK(found[i].allclose(expected[i], 1e-4, 2e-4));
        }
    }
}

TEST_CASE("no padded place is read: neither what lies around nor what was never written") {
    const FilledMemory filled;
    CHECK(at::empty({4}, at::TensorOptions().dtype(at::kByte)).eq(255).all().item<bool>());
    for (const std::string plugin : {"flash", "chunked"}) {
        const auto loaded = test::component(Kind::attention, plugin, plugin);
        conformance::VerifyOptions options;
        options.dtypes = {DType::float32, DType::bfloat16};
        options.filter = "attention/packed";
        CHECK(conformance::verify(
                  {plugin, loaded.entry, loaded.manifest, &test::laptop(), test::default_options(loaded), ""},
                  options)
                  .faults.empty());
    }
    const auto loaded = test::component(Kind::attention, "flash", "flash");
    conformance::VerifyOptions options;
    options.dtypes = {DType::float32, DType::bfloat16};
    options.filter = "key_lengths";
    options.nan_in_key_padding = true;
    const auto report = conformance::verify(
        {"flash", loaded.entry, loaded.manifest, &test::laptop(), test::default_options(loaded), ""},
        options);
    CHECK(report.faults.empty());
    CHECK(report.cases > 20);
}

TEST_CASE("what is not a number makes all that depends on it not a number, forward and backward") {
    at::manual_seed(5);
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        AttentionRequest request;
        request.dtype = *from_scalar_type(type);
        const auto flash = test::make<Attention>("flash", "flash", request);
        const auto chunked = test::make<Attention>("chunked", "chunked", request);
        // 1 query is decoded; 70 are more than a tile. LibTorch's products of bfloat16, of which chunked is
        // made, may carry a NaN into the row before where keys are no whole tiles.
        for (const std::int64_t queries : {1, 70}) {
            for (const std::string which : {"q", "k", "v", "k, capped", "bias"}) {
                INFO(c10::toString(type) << ", " << queries << " queries, " << which);
                MaskSet kinds;
                if (which == "k, capped") kinds.insert(MaskKind::soft_cap);
                if (which == "bias") kinds.insert(MaskKind::dense_bias);
                Problem problem = padded(which, kinds, 1, 2, 2, queries, 192, type);
                problem.params.mask.soft_cap = 5.0;
                problem.inputs.dense_bias = random({queries, 192}, at::kFloat);
                auto& x = which == "q"      ? problem.inputs.q
                          : which == "v"    ? problem.inputs.v
                          : which == "bias" ? problem.inputs.dense_bias
                                            : problem.inputs.k;
                // Every bit is set: rounding to fewer could carry them into a zero.
                auto place = x.select(-2, queries / 2);
                place.copy_(at::full(place.sizes(), -1, at::dtype(at::kInt)).view(at::kFloat));
                if (which != "bias") problem.inputs.dense_bias = at::Tensor();
                const auto found = run(*flash, problem), expected = run(*chunked, problem);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    INFO("result " << i);
                    if (expected[i].defined()) CHECK(found[i].isnan().equal(expected[i].isnan()));
                }
            }
        }
    }
}

TEST_CASE("the same seed drops the same again, padded and packed") {
    const AttentionRequest request;
    for (const std::string plugin : {"flash", "chunked"}) {
        INFO(plugin);
        const auto attention = test::make<Attention>(plugin, plugin, request);
        at::manual_seed(4);
        Problem problem = padded("dropout", {MaskKind::causal}, 3, 4, 2, 150, 150);
        problem.params.dropout = {0.3, 11};
        const auto first = run(*attention, problem);
        CHECK(same(first, run(*attention, problem)));
        Problem other = problem;
        other.params.dropout.seed = 12;
        CHECK_FALSE(same(first, run(*attention, other)));
        const auto pack = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };
        Problem end_to_end = problem;
        for (auto* x : {&end_to_end.inputs.q, &end_to_end.inputs.k, &end_to_end.inputs.v}) *x = pack(*x);
        end_to_end.params.layout = Layout::packed;
        end_to_end.params.mask.kinds.insert(MaskKind::documents);
        end_to_end.params.mask.cu_seqlens_q = end_to_end.params.mask.cu_seqlens_k =
            numbers({0, 150, 300, 450});
        CHECK(attention->forward(end_to_end.inputs, end_to_end.params, nullptr)
                  .out.allclose(pack(first[0]), 1e-5, 1e-6));
    }
}

TEST_CASE(
    "buckets of distances that there are not are refused by the component itself, the fewest are right") {
    struct Buckets {
        std::int64_t count;
        bool both_sides;
        std::int64_t most;  // distance
    };
    const AttentionRequest request;
    at::manual_seed(6);
    for (const std::string plugin : {"flash", "chunked"}) {
        const auto attention = test::make<Attention>(plugin, plugin, request);
        for (const std::int64_t queries : {1, 5}) {  // 1: decoded
            Problem problem = padded(plugin, {MaskKind::relative_bias}, 1, 2, 2, queries, 9);
            const auto given = [&](const Buckets& buckets) -> const Problem& {
                problem.inputs.relative_bias = random({buckets.count, 2}, at::kFloat);
                problem.params.mask.relative_bidirectional = buckets.both_sides;
                problem.params.mask.relative_max_distance = buckets.most;
                return problem;
            };
            const auto forward = [&](const Buckets& buckets) {
                const auto& asked = given(buckets);
                return attention->forward(asked.inputs, asked.params, nullptr).out;
            };
            for (const Buckets& none :
                 {Buckets{0, true, 128}, Buckets{1, true, 128}, Buckets{2, true, 128}, Buckets{3, true, 128},
                  Buckets{0, false, 128}, Buckets{1, false, 128}}) {
                INFO(plugin << ", " << queries << " queries, " << none.count << " buckets");
                CHECK_THROWS_WITH(forward(none), test::contains("relative_bias has " +
                                                                std::to_string(none.count) + " bucket"));
            }
            for (const Buckets& near : {Buckets{4, true, 1}, Buckets{8, true, 2}, Buckets{8, true, -3},
                                        Buckets{2, false, 1}, Buckets{8, false, 4}, Buckets{8, false, 0}}) {
                INFO(plugin << ", " << queries << " queries, up to " << near.most);
                CHECK_THROWS_WITH(forward(near), test::contains("relative_max_distance is " +
                                                                std::to_string(near.most) + ": it must be"));
            }
            for (const Buckets& fewest :
                 {Buckets{4, true, 2}, Buckets{5, true, 2}, Buckets{2, false, 2}, Buckets{3, false, 2}}) {
                INFO(plugin << ", " << queries << " queries, " << fewest.count << " buckets");
                const auto found = forward(fewest);
                CHECK(found.allclose(reference::attention(problem.inputs, problem.params).out, 1e-5, 1e-6));
            }
        }
    }
}

TEST_CASE("chunked takes at most 5 % of naive's memory where its chunk is a 32nd of the length") {
    machine::install_cpu_allocator(config::Allocator::caching);
    // Sizes of (8192, 64) with chunks of 256, all divided by 8.
    at::manual_seed(5);
    const AttentionInputs inputs{random({2, 4, 1024, 8}, at::kFloat), random({2, 4, 1024, 8}, at::kFloat),
                                 random({2, 4, 1024, 8}, at::kFloat), at::Tensor(), at::Tensor()};
    Options options;
    options.set("chunk_size", std::int64_t{32});
    const auto naive = static_cast<double>(extra_bytes("naive", {}, inputs));
    CHECK(naive > 2.0 * 4 * 1024 * 1024 * 4);
    CHECK(static_cast<double>(extra_bytes("chunked", options, inputs)) < 0.05 * naive);
    CHECK(static_cast<double>(extra_bytes("flash", {}, inputs)) < 0.05 * naive);
}
