// The stable tier: what is wrong with a plugin is told by the gate that stops it, or by the call that it
// fails; what is right gives the bits that the same kernel gives as an ordinary plugin.
#include <cstring>
#include <list>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>

#include <switchyard/interfaces/normalization.h>
#include "core/kernel/loader/stable_tier.h"
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/kernel/runtime/services.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::runtime;
using namespace switchyard::test;

namespace {

std::string hostile(const std::string& what) {
    return build_dir() / "tests/hostile/stable" / ("libtest_stable_" + what + ".so");
}

// What the first gate that is not passed says, when the plugin is loaded.
std::string refusal(const std::string& path) {
    const PluginRecord record = judged(path);
    if (!record.usable()) return std::string(name(record.failure()->gate)) + ": " + record.failure()->reason;
    const LoadedPlugin plugin = load_plugin(path, *record.manifest);
    if (plugin.descriptor != nullptr) return "";
    const GateOutcome& gate = plugin.gates.back();
    return std::string(name(gate.gate)) + ": " + gate.reason;
}

NormalizationRequest request_of(NormKind norm) {
    NormalizationRequest request;
    request.norm = norm;
    request.rows = {1, 64};
    request.width = {1, 64};
    request.needs_grad = true;
    request.affine_bias = norm == NormKind::layer_norm;
    return request;
}

struct Subject {
    explicit Subject(const std::string& path, NormKind norm = NormKind::layer_norm, std::int64_t grain = 0)
        : request(request_of(norm)), host(this_host(Look::cpu_only)) {
        const PluginRecord record = judged(path);
        REQUIRE(record.usable());
        static auto& manifests = *new std::list<Manifest>;
        const Manifest& manifest = manifests.emplace_back(*record.manifest);
        loaded = {manifest.name, &manifest.components[0],
                  load_plugin(path, manifest).descriptor->components[0], path};
        if (grain != 0) info.options.set("grain", grain);
        info.request = &request;
        info.host = &host;
        info.token = &executed;
    }
    Handle<Normalization> made() { return create<Normalization>(loaded, info); }

    NormalizationRequest request;
    HostInfo host;
    LoadedComponent loaded;
    CreateInfo info;
    ExecutionCounter executed;
};

std::string error_of_forward(const std::string& what) {
    Subject component(hostile(what));
    const auto made = component.made();
    const at::Tensor x = at::ones({2, 4}), weight = at::ones({4});
    try {
        made->forward({x, {}, {}, weight, {}}, {}, nullptr);
        return "";
    } catch (const std::runtime_error& error) {
        CHECK(x.use_count() == 1);  // no handle was kept
        return error.what();
    }
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.is_contiguous() && b.is_contiguous() &&
           std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

}  // namespace

TEST_CASE("a plugin of the stable tier is loaded whatever LibTorch it was built beside") {
    CHECK(refusal(hostile("right")).empty());
    const PluginRecord record = judged(hostile("right"));
    CHECK(record.manifest->tier == Tier::stable);
    CHECK(record.manifest->fingerprint == Fingerprint{{"stable_abi", "1.0"}, {"tier", "stable"}});
}

TEST_CASE("one that needs C++ of LibTorch is refused by the symbols' names before any of its code runs") {
    CHECK(refusal(hostile("unstable")) ==
          "fingerprint: says that it is of the stable tier, and needs what changes with each release: "
          "at::is_it_stable(at::Tensor const&), c10::a_thing_of_c10(int)");
    // Not even if somebody loads it without discovery: its constructor ends the process.
    const LoadedPlugin plugin = load_plugin(hostile("unstable"), *judged(hostile("unstable")).manifest);
    CHECK(plugin.descriptor == nullptr);
    REQUIRE(plugin.gates.size() == 1);
    CHECK(plugin.gates[0].gate == Gate::load);
}

TEST_CASE("which symbols are unstable") {
    for (const char* unstable :
         {"at::native::add()", "c10::Error::what() const", "vtable for torch::nn::Module", "caffe2::f()",
          "std::vector<at::Tensor, std::allocator<at::Tensor> >::clear()",
          "switchyard::name(switchyard::DType)"})
        CHECK(is_unstable_symbol(unstable));
    for (const char* stable : {"std::__throw_length_error(char const*)", "operator new(unsigned long)",
                               "mine::at::f()", "that::f()", "aoti_torch_get_sizes", "flat::at"})
        CHECK_FALSE(is_unstable_symbol(stable));
}

TEST_CASE("a table that cannot be used is told by what is wrong with it") {
    CHECK(refusal(hostile("symbol")) == "load: exports no symbol switchyard_stable_plugin_v1");
    CHECK(refusal(hostile("size")) ==
          "descriptor: its table is smaller than this version of the interface has it");
    CHECK(refusal(hostile("major")) == "descriptor: its table is of another version of the stable interface");
    CHECK(refusal(hostile("functions")) ==
          "descriptor: the functions of component[0] are fewer than this version of the interface has");
    CHECK(refusal(hostile("gradient")) == "descriptor: component[0] lacks a function of its kind");
    CHECK(refusal(hostile("init")) == "init: the licence has run out");
    CHECK_THAT(refusal(hostile("minimum")),
               contains("fingerprint: needs LibTorch 99.1 or newer, this program has 2."));
}

TEST_CASE("a manifest for another version of the interface is refused before the plugin is loaded") {
    const std::string path = temporary_dir("stable") / "libx.so";
    write_file(path, changed(hostile("right"), "\"abi\":[1,0]", "\"abi\":[2,0]"));
    CHECK(refusal(path) ==
          "fingerprint: built for version 2.0 of Switchyard's stable interface, this program has 1.0");
    write_file(path, changed(hostile("right"), "\"abi\":[1,0]", "\"abi\":[1,7]"));
    CHECK(judged(path).failure()->hint == "use a newer Switchyard, or build it with this program's SDK");
    write_file(path, changed(hostile("right"), "\"tier\":\"stable\"", "\"tier\":\"stab1e\""));
    CHECK(refusal(path) ==
          "manifest: its manifest is damaged: tier is 'stab1e', which this program does not know");
    write_file(path, changed(hostile("right"), "\"normalization\"", "\"data_loader\"  "));
    CHECK_FALSE(judged(path).usable());
}

TEST_CASE("a call that goes wrong says so in its own words, and handles find their owner") {
    CHECK_THAT(error_of_forward("lent"), contains("gave as y a handle that was lent to it"));
    CHECK_THAT(error_of_forward("twice"), contains("gave as sum a handle that it gave already"));
    CHECK_THAT(error_of_forward("silent"), contains("returned 3 and did not say why"));
    CHECK(error_of_forward("right").empty());

    Subject asked(hostile("supports"));
    const Verdict verdict = supports(asked.loaded, asked.request, asked.host, {}, "");
    REQUIRE(verdict.reasons.size() == 1);
    CHECK(verdict.reasons[0].code == Code::Internal);
    CHECK_THAT(verdict.reasons[0].got, contains("it cannot answer that"));

    Subject optioned(hostile("option"));
    CHECK_THROWS_WITH(optioned.made(), contains("option 'not_declared' is not declared in plugin.toml"));
    Subject right(hostile("right"));
    CHECK_THROWS(right.made()->backward({}, {}, at::ones({1}), {}, {}));
}

TEST_CASE("one kernel gives the same bits in both tiers") {
    const auto norm = GENERATE(NormKind::layer_norm, NormKind::rms_norm);
    Subject stable(build_dir() / "tests/support/plugins/stable/libstable_c.so", norm, 16);
    Subject native(build_dir() / "tests/support/plugins/twin/libtest_twin.so", norm);
    const auto a = stable.made();
    const auto b = native.made();
    const at::Tensor x = at::sin(at::linspace(-90, 70, 37 * 53)).view({53, 37}).t();
    const at::Tensor weight = at::linspace(0.5, 2, 53);
    const at::Tensor beta = norm == NormKind::layer_norm ? at::linspace(-1, 1, 53) : at::Tensor();
    NormalizationParams params;
    params.norm = norm;
    Saved saved_a, saved_b;
    const auto y_a = a->forward({x, {}, {}, weight, beta}, params, &saved_a).y;
    const auto y_b = b->forward({x, {}, {}, weight, beta}, params, &saved_b).y;
    CHECK(same_bits(y_a, y_b));
    CHECK(stable.executed.total() == 1);
    const at::Tensor grad = at::sin(at::linspace(3, 50, 37 * 53)).view({37, 53});
    const NormalizationNeeds needs{true, false, false, true, norm == NormKind::layer_norm};
    const auto grads_a = a->backward(params, saved_a, grad, {}, needs);
    const auto grads_b = b->backward(params, saved_b, grad, {}, needs);
    CHECK(same_bits(grads_a.x, grads_b.x));
    CHECK(same_bits(grads_a.weight, grads_b.weight));
    if (beta.defined()) CHECK(same_bits(grads_a.beta, grads_b.beta));
    // Against ATen in float64, so that it is not the same mistake twice.
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor s = norm == NormKind::layer_norm ? wide - wide.mean(-1, true) : wide;
    at::Tensor expected = s / (s.square().mean(-1, true) + params.eps).sqrt() * weight;
    if (beta.defined()) expected = expected + beta;
    CHECK((y_a - expected).abs().max().item<double>() < 1e-5);
}
