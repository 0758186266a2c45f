// What conformance does not see of linear layers: that gemm's products are the tiles' bit by bit, and the
// same on any number of threads where that is asked for; that torch's and naive's are what autograd makes of
// the same calls.
// To add a case: sizes.
#include "builtin.h"

#include <hwy/highway.h>
#include <cmath>
#include <cstring>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>
#include <switchyard/sdk/cpu/float_rows-inl.h>
#include <switchyard/sdk/cpu/panels-inl.h>
#include <switchyard/sdk/cpu/tile_product.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Legend:  R rows  I in  O out
struct Sizes {
    std::int64_t rows, in, out;
};

// Where tiles are faster than LibTorch's products, where they are not, and odd ones.
const std::vector<Sizes> large{{64, 64, 64}, {130, 96, 258}, {1100, 1200, 130}, {128, 2500, 66}};
const std::vector<Sizes> small{{1, 8, 5}, {7, 63, 64}, {63, 65, 3}, {33, 128, 31}};
// Few rows, with ends that fill no vector.
const std::vector<Sizes> streamed{{1, 128, 5},  {2, 301, 70}, {3, 64, 9},   {4, 77, 64},
                                  {5, 100, 33}, {6, 65, 12},  {7, 256, 31}, {8, 1100, 64}};

std::vector<Sizes> all_sizes() {
    auto all = large;
    all.insert(all.end(), small.begin(), small.end());
    all.insert(all.end(), streamed.begin(), streamed.end());
    return all;
}

LinearRequest request_of(DType dtype, bool deterministic = false) {
    LinearRequest request;
    request.dtype = request.weight_dtype = request.output_dtype = dtype;
    request.rows = {0, 4096};
    request.bias = request.needs_grad = true;
    request.deterministic = deterministic;
    return request;
}

struct Layer {
    at::Tensor x_RI, weight_OI, bias_O, grad_RO;
};

Layer drawn(const Sizes& s, DType dtype) {
    const auto type = to_scalar_type(dtype);
    return {at::randn({s.rows, s.in}).to(type), at::randn({s.out, s.in}).to(type),
            at::randn({s.out}).to(type), at::randn({s.rows, s.out}).to(type)};
}

// y, the gradient of x, and that of the weight.
std::vector<at::Tensor> products(Linear& linear, const Layer& layer) {
    const at::NoGradGuard no_grad;
    return {linear.forward({layer.x_RI}, {{layer.weight_OI}}, layer.bias_O),
            linear.input_gradient({layer.grad_RO}, {{layer.weight_OI}}),
            linear.weight_gradient({layer.grad_RO}, {layer.x_RI})};
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    const at::Tensor one = a.contiguous(), other = b.contiguous();
    return one.sizes() == other.sizes() && one.scalar_type() == other.scalar_type() &&
           (one.nbytes() == 0 ||
            std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0);
}

bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i])) return false;
    return a.size() == b.size();
}

class Threads {
public:
    explicit Threads(int count) { at::set_num_threads(count); }
    ~Threads() { at::set_num_threads(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_ = at::get_num_threads();
};

bool fixes_order(Linear& linear) {
    return std::string(static_cast<const char*>(linear.query(thread_counts_property))).empty();
}

// The tiles themselves, with tables of this program's own.
template <class Number>
std::vector<at::Tensor> in_tiles(const Layer& layer) {
    const tiles::Functions functions{switchyard::HWY_NAMESPACE::panel_functions(),
                                     switchyard::HWY_NAMESPACE::row_functions()};
    using In = tiles::Matrix<const Number>;
    using Out = tiles::Matrix<Number>;
    const auto in = [](const at::Tensor& t) {
        return In{t.const_data_ptr<Number>(), t.size(0), t.size(1), t.stride(0)};
    };
    const auto out = [](at::Tensor& t) {
        return Out{t.mutable_data_ptr<Number>(), t.size(0), t.size(1), t.stride(0)};
    };
    const at::Tensor& weight = layer.weight_OI;
    const at::Tensor bias = layer.bias_O.to(at::kFloat);
    at::Tensor y_RO = at::empty_like(layer.grad_RO), x_RI = at::empty_like(layer.x_RI),
               weight_OI = at::empty_like(weight);
    tiles::multiply<Number>(functions, in(layer.x_RI), in(weight), true, out(y_RO),
                            bias.const_data_ptr<float>());
    tiles::multiply<Number>(functions, in(layer.grad_RO), in(weight), false, out(x_RI));
    tiles::multiply_transposed<Number>(functions, in(layer.grad_RO), in(layer.x_RI), out(weight_OI));
    return {y_RO, x_RI, weight_OI};
}

std::vector<at::Tensor> in_tiles(const Layer& layer, DType dtype) {
    return dtype == DType::float32 ? in_tiles<float>(layer) : in_tiles<c10::BFloat16>(layer);
}

// Whether LibTorch multiplies numbers of 16 bits other than one by one.
bool multiplies_narrow() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0;
#else
    return true;
#endif
}

std::vector<at::Tensor> in_libtorch(const Layer& layer) {
    if (layer.x_RI.scalar_type() != at::kFloat && !multiplies_narrow()) {
        const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
        auto all =
            in_libtorch({wide(layer.x_RI), wide(layer.weight_OI), wide(layer.bias_O), wide(layer.grad_RO)});
        for (auto& one : all) one = one.to(layer.x_RI.scalar_type());
        return all;
    }
    return {at::linear(layer.x_RI, layer.weight_OI, layer.bias_O), at::mm(layer.grad_RO, layer.weight_OI),
            at::mm(layer.grad_RO.t(), layer.x_RI)};
}

// Small integers, whose products and sums float32 holds exactly, in whatever order.
at::Tensor integers(at::IntArrayRef sizes, at::ScalarType type) {
    return at::randint(-2, 3, sizes, at::kFloat).to(type);
}

}  // namespace

TEST_CASE("gemm streams a weight for few rows, within a rounding of the exact sums, bias and strides too") {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
        const auto request = request_of(dtype);
        const auto gemm = test::make<Linear>("gemm", "gemm", request);
        for (const Sizes& s : streamed) {
            INFO(name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out);
            const Layer layer = drawn(s, dtype);
            const at::Tensor wider = at::randn({s.out, s.in + 3}).to(to_scalar_type(dtype));
            for (const at::Tensor& weight : {layer.weight_OI, wider.narrow(1, 2, s.in)}) {
                const at::Tensor y = gemm->forward({layer.x_RI}, {{weight}}, layer.bias_O);
                const at::Tensor exact = at::linear(layer.x_RI.to(at::kDouble), weight.to(at::kDouble),
                                                    layer.bias_O.to(at::kDouble));
                const double unit = dtype == DType::float32 ? 2e-6 : 4e-3;
                CHECK(y.scalar_type() == layer.x_RI.scalar_type());
                CHECK(y.to(at::kDouble).allclose(exact, unit, unit * std::sqrt(static_cast<double>(s.in))));
            }
        }
        CHECK(gemm.counter->calls() == std::map<std::string, std::uint64_t>{{"stream", 2 * streamed.size()}});
    }
}

TEST_CASE("gemm is the tiles where they pay, and LibTorch elsewhere, bit by bit") {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
        const auto request = request_of(dtype);
        const auto gemm = test::make<Linear>("gemm", "gemm", request);
        const bool tiled = tiles::multiplies(to_scalar_type(dtype));
        for (const Sizes& s : large) {
            INFO(name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out);
            const Layer layer = drawn(s, dtype);
            CHECK(same_bits(products(*gemm, layer), tiled ? in_tiles(layer, dtype) : in_libtorch(layer)));
        }
        for (const Sizes& s : small) {
            INFO(name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out);
            const Layer layer = drawn(s, dtype);
            CHECK(same_bits(products(*gemm, layer), in_libtorch(layer)));
        }
        std::map<std::string, std::uint64_t> expected{{tiled ? "tiles" : "libtorch", large.size()}};
        expected["libtorch"] += small.size();
        CHECK(gemm.counter->calls() == expected);
    }
}

TEST_CASE("gemm in a fixed order is the tiles for all sizes of float32, and the same bits on two threads") {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        const auto request = request_of(dtype, true);
        const auto gemm = test::make<Linear>("gemm", "gemm", request);
        if (!fixes_order(*gemm)) return test::skip("this processor has no tiles");
        for (const Sizes& s : all_sizes()) {
            INFO(name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out);
            const Layer layer = drawn(s, dtype);
            std::vector<at::Tensor> alone;
            {
                const Threads one(1);
                alone = products(*gemm, layer);
            }
            const Threads two(2);
            CHECK(same_bits(products(*gemm, layer), alone));
            const bool streams = s.rows <= 8 && s.in >= 64;
            if (dtype == DType::float32 && !streams) CHECK(same_bits(alone, in_tiles(layer, dtype)));
        }
    }
}

TEST_CASE("gemm's products of small integers are exact, whatever the strides") {
    for (const bool deterministic : {false, true}) {
        for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
            const auto request = request_of(dtype, deterministic);
            const auto gemm = test::make<Linear>("gemm", "gemm", request);
            const auto type = to_scalar_type(dtype);
            for (const Sizes& s : all_sizes()) {
                INFO(name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out << " " << deterministic);
                const Layer plain{integers({s.rows, s.in}, type), integers({s.out, s.in}, type),
                                  integers({s.out}, type), integers({s.rows, s.out}, type)};
                const auto turned = [](const at::Tensor& x) { return x.t().contiguous().t(); };
                const Layer strided{turned(plain.x_RI), turned(plain.weight_OI), plain.bias_O,
                                    turned(plain.grad_RO)};
                const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
                const std::vector<at::Tensor> exact{
                    at::mm(wide(plain.x_RI), wide(plain.weight_OI).t()).add(wide(plain.bias_O)).to(type),
                    at::mm(wide(plain.grad_RO), wide(plain.weight_OI)).to(type),
                    at::mm(wide(plain.grad_RO).t(), wide(plain.x_RI)).to(type)};
                for (const Layer* layer : {&plain, &strided}) {
                    const auto found = products(*gemm, *layer);
                    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(found[i].equal(exact[i]));
                }
            }
        }
    }
}

TEST_CASE("torch and naive multiply as autograd does behind at::linear and behind the reference") {
    for (const std::string plugin : {"torch", "naive"}) {
        for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
            const auto request = request_of(dtype);
            const auto linear = test::make<Linear>(plugin, plugin, request);
            for (const Sizes& s : all_sizes()) {
                if (s.rows * s.in * s.out > 5'000'000) continue;
                INFO(plugin << " " << name(dtype) << " " << s.rows << " x " << s.in << " x " << s.out);
                const Layer layer = drawn(s, dtype);
                const at::Tensor x = layer.x_RI.clone().set_requires_grad(true);
                const at::Tensor weight = layer.weight_OI.clone().set_requires_grad(true);
                const at::Tensor y = plugin == "torch" ? at::linear(x, weight, layer.bias_O)
                                                       : reference::linear(x, weight, layer.bias_O);
                y.backward(layer.grad_RO);
                CHECK(same_bits(products(*linear, layer), {y.detach(), x.grad(), weight.grad()}));
            }
        }
    }
}

TEST_CASE("torch leaves the process's setting for TensorFloat-32 as it was") {
    auto request = request_of(DType::float32);
    request.tf32 = true;
    const bool before = at::globalContext().allowTF32CuBLAS();
    const auto linear = test::make<Linear>("torch", "torch", request);
    const Layer layer = drawn({8, 16, 8}, DType::float32);
    CHECK(same_bits(products(*linear, layer)[0], at::linear(layer.x_RI, layer.weight_OI, layer.bias_O)));
    CHECK(at::globalContext().allowTF32CuBLAS() == before);
}
