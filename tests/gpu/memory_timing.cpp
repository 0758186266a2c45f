// Times what is bound by memory on a CUDA device - the plugins fused and optim8bit - in turn with LibTorch's
// own calls, and with bitsandbytes' kernel where its library is given: medians of events on the device, bytes
// that must move at least, and their rate beside that of a copy in the same run.
//
//   gpu_memory_timing PLUGIN_FOLDER [LIBBITSANDBYTES]
#include <cstdio>
#include <utility>

#include <dlfcn.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>

#include "core/kernel/config/check_value.h"
#include "timing.h"

using namespace switchyard;
using namespace switchyard::gpu;

namespace {

double copy_rate = 0.0;  // bytes a second

using Call = std::function<void()>;

// `base` may be empty.
void compare(const std::string& what, double bytes, const Call& own, const Call& base, const char* against) {
    std::vector<double> own_ms, base_ms;
    for (int i = 0; i < 23; ++i) {  // the first three for libraries, caches and clocks
        const double a = time_once(own), b = base ? time_once(base) : 0.0;
        if (i >= 3) own_ms.push_back(a), base_ms.push_back(b);
    }
    const double a = median(own_ms), b = median(base_ms), rate = bytes / a * 1e3;
    std::printf("%-52s %8.3f ms %7.0f GB/s %5.1f %% of a copy", what.c_str(), a, rate * 1e-9,
                100.0 * rate / copy_rate);
    base ? std::printf("   %s %8.3f ms  %.2fx\n", against, b, b / a) : std::printf("\n");
}

at::TensorOptions on_device(at::ScalarType type) { return at::TensorOptions().dtype(type).device(at::kCUDA); }

void measure_copy() {
    const at::Tensor from = at::randn({1 << 28}, on_device(at::kFloat)), to = at::empty_like(from);
    std::vector<double> ms;
    for (int i = 0; i < 23; ++i) ms.push_back(time_once([&] { to.copy_(from); }));
    copy_rate = 2.0 * static_cast<double>(from.nbytes()) / median(ms) * 1e3;
    std::printf("copy of 1 GiB: %.0f GB/s\n", copy_rate * 1e-9);
}

template <class Interface, class Request>
auto make(runtime::Registry& registry, const HostInfo& host, Kind kind, const char* id,
          const Request& request, const Options& changed = {}) {
    static runtime::ExecutionCounter counter;
    const auto component = component_of(registry, kind, id);
    CreateInfo info;
    info.request = &request;
    info.options = config::default_options(component.manifest->options);
    for (const auto& [name, value] : changed.values()) info.options.set(name, value);
    info.host = &host;
    info.services = runtime::services();
    info.token = &counter;
    return runtime::create<Interface>(component, info);
}

auto make_8bit(runtime::Registry& registry, const HostInfo& host, const OptimizerRequest& request) {
    Options options;
    options.set("keep_32bit", std::vector<std::string>{});
    return make<Optimizer>(registry, host, Kind::optimizer, "optim8bit", request, options);
}

// BERT-base: 199 tensors, 109.5 million values.
std::vector<std::vector<std::int64_t>> bert_shapes() {
    constexpr std::int64_t d = 768, wide = 3072;
    std::vector<std::vector<std::int64_t>> shapes = {{30522, d}, {512, d}, {2, d}, {d}, {d}};
    for (int layer = 0; layer < 12; ++layer) {
        for (int i = 0; i < 4; ++i) shapes.push_back({d, d}), shapes.push_back({d});
        for (const auto& shape :
             std::vector<std::vector<std::int64_t>>{{d}, {d}, {wide, d}, {wide}, {d, wide}, {d}, {d}, {d}})
            shapes.push_back(shape);
    }
    shapes.push_back({d, d});
    shapes.push_back({d});
    return shapes;
}

struct Model {
    std::vector<ParameterGroup> groups;
    std::vector<at::Tensor> values, gradients;
    double count = 0.0;
};

Model make_model(at::ScalarType type) {
    Model model;
    model.groups.push_back({"all", {}, {}});
    for (const auto& shape : bert_shapes()) {
        Parameter parameter;
        parameter.name = std::string("p").append(std::to_string(model.values.size()));
        parameter.value = at::randn(shape, on_device(type));
        parameter.gradient = at::randn(shape, on_device(type));
        if (type != at::kFloat) parameter.master = parameter.value.to(at::kFloat);
        model.values.push_back(parameter.value);
        model.gradients.push_back(parameter.gradient);
        model.count += static_cast<double>(parameter.value.numel());
        model.groups[0].parameters.push_back(parameter);
    }
    return model;
}

struct Moments {
    std::vector<at::Tensor> first, second, steps;
};

void adamw_of_libtorch(Model& model, Moments& moments, bool clips) {
    if (clips) {
        const at::Tensor norm = at::stack(at::_foreach_norm(model.gradients)).norm();
        at::_foreach_mul_(model.gradients, (1.0 / (norm + 1e-6)).clamp_max(1.0));
    }
    at::_fused_adamw_(model.values, model.gradients, moments.first, moments.second, {}, moments.steps, 1e-3,
                      0.9, 0.999, 0.01, 1e-8, false, false);
}

void time_optimizers(runtime::Registry& fused, runtime::Registry& optim8bit, const HostInfo& host) {
    OptimizerRequest request;
    request.device = Device::cuda;
    for (const bool clips : {false, true}) {
        Model model = make_model(at::kFloat), peer = make_model(at::kFloat);
        Moments moments;
        for (const at::Tensor& value : peer.values) {
            moments.first.push_back(at::zeros_like(value));
            moments.second.push_back(at::zeros_like(value));
            moments.steps.push_back(at::zeros({}, on_device(at::kFloat)));
        }
        StepParams params;
        params.max_grad_norm = clips ? 1.0 : 0.0;
        const std::string what = clips ? ", clipping" : "";
        const auto step = make<Optimizer>(fused, host, Kind::optimizer, "fused", request);
        step->bind(model.groups);
        compare(
            "fused adamw, BERT-base, float32" + what, model.count * (clips ? 32.0 : 28.0),
            [&] { step->step(model.groups, params); }, [&] { adamw_of_libtorch(peer, moments, clips); },
            "_fused_adamw_");
        const auto in_codes = make_8bit(optim8bit, host, request);
        in_codes->bind(model.groups);
        compare(
            "optim8bit adamw, BERT-base, float32" + what, model.count * (clips ? 20.0 : 16.0),
            [&] { in_codes->step(model.groups, params); }, [&] { adamw_of_libtorch(peer, moments, clips); },
            "_fused_adamw_");
    }
}

// What stands around the matrix products, in the shapes of BERT-base: forward and backward, against
// LibTorch's own kernel of the same.
void time_normalization(runtime::Registry& fused, const HostInfo& host) {
    constexpr std::int64_t rows = 65536, width = 768;
    NormalizationRequest request;
    request.device = Device::cuda;
    request.dtype = DType::bfloat16;
    request.width = width;
    const auto norm = make<Normalization>(fused, host, Kind::normalization, "fused", request);
    const at::Tensor x = at::randn({rows, width}, on_device(at::kBFloat16)), grad = at::randn_like(x);
    const at::Tensor weight = at::randn({width}, on_device(at::kFloat)), beta = at::randn_like(weight);
    const at::Tensor narrow_weight = weight.to(at::kBFloat16), narrow_beta = beta.to(at::kBFloat16);
    const NormalizationInputs inputs{x, {}, {}, weight, beta};
    Saved saved;
    norm->forward(inputs, {}, &saved);
    const auto library = [&] { return at::native_layer_norm(x, {width}, narrow_weight, narrow_beta, 1e-5); };
    const auto [y, mean, rstd] = library();
    const auto bytes = static_cast<double>(x.nbytes());
    compare(
        "fused LayerNorm forward, 65536 x 768, bf16", 2.0 * bytes,
        [&] { norm->forward(inputs, {}, nullptr); }, [&] { library(); }, "native_layer_norm");
    compare(
        "fused LayerNorm backward", 3.0 * bytes,
        [&] {
            norm->backward({}, saved, grad, {}, {true, false, false, true, true});
        },
        [&, &mean = mean, &rstd = rstd] {
            at::native_layer_norm_backward(grad, x, {width}, mean, rstd, narrow_weight, narrow_beta,
                                           {true, true, true});
        },
        "its backward");
    const NormalizationInputs wide{x.view({64, 1024, width}), beta, grad.view({64, 1024, width}), weight,
                                   beta};
    NormalizationParams params;
    params.dropout = {0.1, 7};
    compare(
        "fused norm(residual + dropout(x + bias)) forward", 4.0 * bytes,
        [&] { norm->forward(wide, params, nullptr); }, {}, "");
}

void time_activation_and_loss(runtime::Registry& fused, const HostInfo& host) {
    ActivationRequest request;
    request.device = Device::cuda;
    request.dtype = DType::bfloat16;
    const auto activation = make<Activation>(fused, host, Kind::activation, "fused", request);
    const at::Tensor x = at::randn({16384, 3072}, on_device(at::kBFloat16));
    const at::Tensor bias = at::randn({3072}, on_device(at::kBFloat16));
    const auto bytes = static_cast<double>(x.nbytes());
    compare(
        "fused bias + GELU forward, 16384 x 3072, bf16", 2.0 * bytes,
        [&] {
            activation->forward({x, bias}, {}, nullptr);
        },
        [&] { at::gelu(x + bias); }, "add, gelu");

    LossRequest of_loss;
    of_loss.device = Device::cuda;
    of_loss.dtype = DType::bfloat16;
    const auto loss = make<Loss>(fused, host, Kind::loss, "fused", of_loss);
    const at::Tensor logits = at::randn({8192, 50257}, on_device(at::kBFloat16));
    const at::Tensor targets = at::randint(50257, {8192}, on_device(at::kLong));
    const at::Tensor one = at::ones({}, on_device(at::kFloat));
    compare(
        "fused cross-entropy forward and backward, 8192 x 50257", 3.0 * static_cast<double>(logits.nbytes()),
        [&] {
            Saved saved;
            loss->forward({logits, {}, {}, targets}, {}, &saved);
            loss->backward({}, saved, one, {});
        },
        [&] { at::_log_softmax(logits, -1, false); }, "_log_softmax alone");
}

// bitsandbytes' own kernel on one tensor, against ours on the same (csrc/pythonInterface.cpp has the
// declaration).
void time_bitsandbytes(const char* library, runtime::Registry& optim8bit, const HostInfo& host) {
    using Step = void(float*, float*, std::uint8_t*, std::uint8_t*, float, float, float, float, float,
                      std::int32_t, float, float*, float*, float*, float*, float, float, bool, std::int32_t);
    void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) throw std::runtime_error(dlerror());
    auto* const theirs = reinterpret_cast<Step*>(dlsym(opened, "cadam_8bit_blockwise_grad_fp32"));
    if (theirs == nullptr)
        throw std::runtime_error("bitsandbytes: cadam_8bit_blockwise_grad_fp32 is not there");
    constexpr std::int64_t n = 110'000'128;
    const auto floats = on_device(at::kFloat), bytes = on_device(at::kByte);
    const at::Tensor w = at::randn({n}, floats), g = at::randn({n}, floats);
    const at::Tensor first = at::zeros({n}, bytes), second = at::zeros({n}, bytes);
    const at::Tensor book = at::randn({2, 256}, floats).clamp(-1.0, 1.0),
                     scales = at::zeros({2, n / 256 + 1}, floats);
    OptimizerRequest request;
    request.device = Device::cuda;
    const auto ours = make_8bit(optim8bit, host, request);
    std::vector<ParameterGroup> groups = {{"all", {}, {{"p", w, g, {}}}}};
    ours->bind(groups);
    int step = 0;
    const at::Tensor sorted = std::get<0>(book.sort(-1));
    compare(
        "optim8bit adamw, 110 million values, float32", 16.0 * static_cast<double>(n),
        [&] { ours->step(groups, {}); },
        [&] {
            theirs(w.mutable_data_ptr<float>(), g.mutable_data_ptr<float>(),
                   first.mutable_data_ptr<std::uint8_t>(), second.mutable_data_ptr<std::uint8_t>(), 0.9F,
                   0.999F, 0.0F, 0.0F, 1e-8F, ++step, 1e-3F, sorted[0].mutable_data_ptr<float>(),
                   sorted[1].mutable_data_ptr<float>(), scales[0].mutable_data_ptr<float>(),
                   scales[1].mutable_data_ptr<float>(), 0.01F, 1.0F, false, static_cast<std::int32_t>(n));
        },
        "bitsandbytes");
}

}  // namespace

int main(int count, char** arguments) try {
    if (count < 2) throw std::runtime_error("usage: gpu_memory_timing PLUGIN_FOLDER [LIBBITSANDBYTES]");
    const HostInfo host = host_with_device();
    std::printf("%s, LibTorch %s; medians of 20, in turn\n", host.first(Device::cuda)->name.c_str(),
                host.libtorch_version.c_str());
    const std::string folder = arguments[1];
    runtime::Registry fused = plugin_at(folder + "/libfused.so", host);
    runtime::Registry optim8bit = plugin_at(folder + "/liboptim8bit.so", host);
    const at::NoGradGuard no_grad;
    measure_copy();
    time_normalization(fused, host);
    time_activation_and_loss(fused, host);
    time_optimizers(fused, optim8bit, host);
    if (count > 2) time_bitsandbytes(arguments[2], optim8bit, host);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_memory_timing: %s\n", error.what());
    return 1;
}
