// What the bench asks of a linear layer, and what it takes for right, before any component is called.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include "core/workbench/bench/bench_case.h"
#include "core/workbench/bench/request_problem.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;

namespace {

BenchSettings with_bias() {
    BenchSettings settings;
    settings.kind = Kind::linear;
    settings.bias = true;
    return settings;
}

std::unique_ptr<BenchCase> case_of_shape(const std::string& shape, DType dtype,
                                         const BenchSettings& settings = with_bias()) {
    return make_case(settings, parse_shape(Kind::linear, shape).shape.value(), dtype);
}

std::vector<std::string> names_of(const CheckedTensors& tensors) {
    std::vector<std::string> list;
    for (const auto& tensor : tensors) list.push_back(tensor.name);
    return list;
}

LinearRequest request_of(std::int64_t in, std::int64_t out, Range rows) {
    LinearRequest request;
    request.rows = rows;
    request.in = in;
    request.out = out;
    request.needs_grad = true;
    return request;
}

}  // namespace

TEST_CASE("a bench of linear asks for operands of one dtype, dense") {
    const auto made = case_of_shape("6,4,5", DType::bfloat16);
    const auto use = made->use(Pass::forward_backward);
    CHECK(use.kind == Kind::linear);
    const auto& request = KindTraits<Kind::linear>::request(*use.request);
    CHECK(request.rows == Range(6));
    CHECK(request.in == 4);
    CHECK(request.out == 5);
    CHECK(request.dtype == DType::bfloat16);
    CHECK(request.weight_dtype == DType::bfloat16);
    CHECK(request.output_dtype == DType::bfloat16);
    CHECK(request.weight_format == WeightFormat::dense);
    CHECK(request.bias);
    CHECK(request.needs_grad);
    CHECK(request.phase == Phase::train);
    CHECK(made->use(Pass::forward).request->phase == Phase::eval);
    CHECK_FALSE(made->use(Pass::forward).request->needs_grad);
}

TEST_CASE("a product and the two of backward are counted, and each matrix that is read or written") {
    const auto made = case_of_shape("6,4,5", DType::float32);
    const double products = 2.0 * 6 * 4 * 5, bytes = 4.0 * (6 * 4 + 4 * 5 + 6 * 5);
    for (const auto& [pass, times] : {std::pair(Pass::forward, 1.0), std::pair(Pass::backward, 2.0),
                                      std::pair(Pass::forward_backward, 3.0)}) {
        CHECK(made->work(pass).flops == times * products);
        CHECK(made->work(pass).bytes == times * bytes);
        CHECK_FALSE(made->work(pass).memory_bound);
    }
    const auto few = case_of_shape("2,40,50", DType::float32);
    CHECK(few->work(Pass::forward).reads_only);
    CHECK_FALSE(few->work(Pass::forward_backward).memory_bound);
}

TEST_CASE("the gradients of a linear layer are those of y = x w^T + b") {
    const auto whole =
        case_of_shape("6,4,5", DType::float32)->reference(Pass::forward_backward, DType::float64, true);
    CHECK(names_of(whole) == std::vector<std::string>{"y", "grad x", "grad weight", "grad bias"});
    CHECK(whole[0].value.sizes() == at::IntArrayRef{6, 5});
    CHECK(whole[1].value.sizes() == at::IntArrayRef{6, 4});
    CHECK(whole[2].value.sizes() == at::IntArrayRef{5, 4});
    CHECK(whole[3].value.sizes() == at::IntArrayRef{5});
    for (const auto& tensor : whole) CHECK(tensor.value.scalar_type() == at::kDouble);
    // Of one row and one input: y = x w + b, grad x = g w, grad w = g x, grad b = g.
    const auto one =
        case_of_shape("1,1,1", DType::float64)->reference(Pass::forward_backward, DType::float64, true);
    const auto value = [&](std::size_t which) { return one[which].value.item<double>(); };
    const double g = value(3), x = value(2) / g, w = value(1) / g;
    CHECK(value(0) - x * w != 0.0);
    auto settings = with_bias();
    settings.bias = false;
    const auto plain = case_of_shape("1,1,1", DType::float64, settings)
                           ->reference(Pass::forward_backward, DType::float64, true);
    CHECK(names_of(plain) == std::vector<std::string>{"y", "grad x", "grad weight"});
    CHECK(plain[0].value.item<double>() == Approx(x * w));
}

TEST_CASE("of a large linear layer some rows are checked, and of the parameters some outputs") {
    const auto made = case_of_shape("4096,512,1024", DType::float32);
    CHECK(made->checked_part() == "2048 of 4096 rows, 512 of 1024 outputs");
    const auto part = made->reference(Pass::forward_backward, DType::float32, true);
    CHECK(names_of(part) == std::vector<std::string>{"y", "grad x", "grad weight", "grad bias"});
    CHECK(part[0].value.sizes() == at::IntArrayRef{2048, 1024});
    CHECK(part[1].value.sizes() == at::IntArrayRef{2048, 512});
    CHECK(part[2].value.sizes() == at::IntArrayRef{512, 512});
    CHECK(part[3].value.sizes() == at::IntArrayRef{512});
    CHECK(case_of_shape("1024,512,1024", DType::float32)->checked_part() == "");
    CHECK(made->checkable());
}

TEST_CASE("parameters keep a dtype of their own, their gradients with them") {
    auto settings = with_bias();
    settings.parameter_dtype = DType::float32;
    const auto made = case_of_shape("6,4,5", DType::bfloat16, settings);
    const auto results = made->reference(Pass::forward_backward, DType::bfloat16, true);
    CHECK(results[0].value.scalar_type() == at::kBFloat16);
    CHECK(results[1].value.scalar_type() == at::kBFloat16);
    CHECK(results[2].value.scalar_type() == at::kFloat);
    CHECK(results[3].value.scalar_type() == at::kFloat);
}

TEST_CASE("LibTorch's own call runs in every pass, whatever the parameters' dtype") {
    const auto made = case_of_shape("6,4,5", DType::bfloat16);
    for (const auto pass : {Pass::forward, Pass::backward, Pass::forward_backward}) {
        const auto call = made->bare(pass);
        REQUIRE(call);
        CHECK_NOTHROW(call());
        CHECK_NOTHROW(call());
    }
}

TEST_CASE("a request of a linear layer becomes a problem of its own sizes, with rows that can be timed") {
    auto request = request_of(768, 3072, {1, 16384});
    request.dtype = request.weight_dtype = request.output_dtype = DType::bfloat16;
    request.bias = true;
    const auto problem = problem_of(Kind::linear, request);
    CHECK(problem.shape.in == 768);
    CHECK(problem.shape.out == 3072);
    CHECK(problem.shape.rows == (std::int64_t{1} << 32) / (3 * 768 * 3072));
    CHECK(problem.dtype == DType::bfloat16);
    CHECK(problem.settings.parameter_dtype == DType::bfloat16);
    CHECK(problem.settings.bias);
    CHECK(problem.pass == Pass::forward_backward);
    CHECK(problem_of(Kind::linear, request_of(64, 64, {1, 300})).shape.rows == 300);
    CHECK(problem_of(Kind::linear, request_of(30000, 30000, {1, 300})).shape.rows == 1);
    CHECK(problem_of(Kind::linear, request_of(1, 1, {1, std::int64_t{1} << 40})).shape.rows == std::int64_t{1}
                                                                                                   << 23);
}
