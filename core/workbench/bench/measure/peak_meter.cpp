#include "core/workbench/bench/measure/peak_meter.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/bench/measure/tile_products.h"

namespace switchyard::bench {

namespace {

constexpr std::int64_t megabyte = std::int64_t{1} << 20;
// One or two milliseconds.
constexpr std::int64_t tile_repetitions = 100;
constexpr std::int64_t smallest_square = 512, largest_square = 16384;

// In equal parts, one a thread: each streams through one stretch of memory.
void for_each_part(std::int64_t bytes,
                   const std::function<void(std::int64_t begin, std::int64_t end)>& part) {
    const std::int64_t grain =
        std::max<std::int64_t>((bytes / at::get_num_threads() + 4095) / 4096 * 4096, megabyte);
    at::parallel_for(0, (bytes + grain - 1) / grain, 1, [&](std::int64_t first, std::int64_t last) {
        part(first * grain, std::min(last * grain, bytes));
    });
}

// memcpy rather than copy_: it stores around the caches when a part is large, which is what the machine can
// do at its best.
void copy_parts(void* to, const void* from, std::int64_t bytes) {
    for_each_part(bytes, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                    static_cast<std::size_t>(end - begin));
    });
}

// Two stretches a thread, and lines asked for ahead: a core that waits for each line has too few under way,
// and reads two thirds of what it can on some processors.
std::uint64_t read_parts(const void* from, std::int64_t bytes) {
    constexpr std::size_t line_words = 8, ahead = 4096 / sizeof(std::uint64_t);
    std::atomic<std::uint64_t> total{0};
    for_each_part(bytes, [&](std::int64_t begin, std::int64_t end) {
        const auto* const first =
            reinterpret_cast<const std::uint64_t*>(static_cast<const char*>(from) + begin);
        const auto count = static_cast<std::size_t>((end - begin) / 128) * line_words;
        const std::uint64_t* const second = first + count;
        std::uint64_t sums[line_words] = {};
        for (std::size_t i = 0; i < count; i += line_words) {
            __builtin_prefetch(first + i + ahead);
            __builtin_prefetch(second + i + ahead);
            for (std::size_t lane = 0; lane < line_words; ++lane)
                sums[lane] += first[i + lane] + second[i + lane];
        }
        for (const std::uint64_t sum : sums) total += sum;
    });
    return total;
}

std::string square_text(std::int64_t n) { return "mm of " + std::to_string(n) + " x " + std::to_string(n); }

std::string tiles_text() {
    return "tiles of " + std::to_string(tile_rows) + " x " + std::to_string(tile_columns) + " x " +
           std::to_string(tile_depth);
}

// Numbers of 16 bits can go through float32 everywhere, and do where a CPU has no product of theirs.
bool may_go_through_float32(DType dtype, c10::Device device) {
    return device.is_cpu() && (dtype == DType::bfloat16 || dtype == DType::float16);
}

constexpr const char* through_float32 = "float32 ";

struct Product {
    at::Tensor a, b, c;
    double best_ms = std::numeric_limits<double>::infinity();

    std::int64_t size() const { return a.size(0); }
    double gflops() const { return 2.0 * static_cast<double>(size() * size() * size()) / best_ms / 1e6; }
};

}  // namespace

std::int64_t peak_buffer_bytes(const HostInfo& host, c10::Device device) {
    if (!device.is_cpu()) return 512 * megabyte;
    const std::int64_t most = host.memory_bytes > 0 ? host.memory_bytes / 16 : 256 * megabyte;
    return std::min(std::max(4 * host.l3_bytes, 64 * megabyte), std::max(most, megabyte)) / megabyte *
           megabyte;
}

class PeakMeter::State {
public:
    State(std::vector<DType> dtypes, c10::Device device, const HostInfo& host, Stopwatch& stopwatch)
        : dtypes_(std::move(dtypes)), device_(device), stopwatch_(stopwatch) {
        peaks_.buffer_bytes = peak_buffer_bytes(host, device);
    }

    void sample() {
        const at::NoGradGuard no_grad;
        sample_memory();
        sample_products();
    }

    void sample_products() {
        const at::NoGradGuard no_grad;
        for (const DType dtype : dtypes_) sample_products(dtype);
    }

    bool sample_product(DType dtype, const std::string& of) {
        const at::NoGradGuard no_grad;
        if (sample_product(dtype, dtype, "", of)) return true;
        return may_go_through_float32(dtype, device_) &&
               sample_product(DType::float32, dtype, through_float32, of);
    }

    const Peaks& peaks() const { return peaks_; }

private:
    // Fewer than `repetitions`, but two at least, where they last longer than `enough_ms` together.
    double best_of(int repetitions, const std::function<void()>& run,
                   double enough_ms = std::numeric_limits<double>::infinity()) {
        double best = std::numeric_limits<double>::infinity(), spent = 0.0;
        for (int repetition = 0; repetition < repetitions; ++repetition) {
            if (repetition >= 2 && spent > enough_ms) break;
            const double start = stopwatch_.now_ms();
            run();
            const double ms = stopwatch_.now_ms() - start;
            best = std::min(best, ms);
            spent += ms;
        }
        return best;
    }

    // Of a pass over a buffer, which takes a tenth of a second and more where the last cache is large.
    double best_pass(const std::function<void()>& run) { return best_of(6, run, 300.0); }

    void sample_memory() {
        if (!from_.defined()) {
            from_ = at::full({peaks_.buffer_bytes / 4}, 1.0F, at::device(device_).dtype(at::kFloat));
            to_ = at::zeros({peaks_.buffer_bytes / 4}, at::device(device_).dtype(at::kFloat));
        }
        const auto bytes = static_cast<double>(peaks_.buffer_bytes);
        double copy_ms = best_pass([&] { to_.copy_(from_); });
        double read_ms = 0.0;
        if (device_.is_cpu()) {
            copy_ms =
                std::min(copy_ms, best_pass([&] {
                             copy_parts(to_.mutable_data_ptr(), from_.const_data_ptr(), peaks_.buffer_bytes);
                         }));
            read_ms =
                best_pass([&] { seen_ = seen_ + read_parts(from_.const_data_ptr(), peaks_.buffer_bytes); });
        } else {
            read_ms = best_pass([&] { at::sum(from_); });
        }
        peaks_.copy_gbytes_per_second = std::max(peaks_.copy_gbytes_per_second, 2.0 * bytes / copy_ms / 1e6);
        peaks_.read_gbytes_per_second = std::max(peaks_.read_gbytes_per_second, bytes / read_ms / 1e6);
    }

    void sample_products(DType dtype) {
        sample_products(dtype, dtype, "");
        if (may_go_through_float32(dtype, device_)) sample_products(DType::float32, dtype, through_float32);
    }

    bool sample_product(DType dtype, DType peak, const std::string& as, const std::string& of) {
        if (of == as + tiles_text() && device_.is_cpu() && has_tile_products(dtype)) {
            sample_tiles(dtype, peak, as);
            return true;
        }
        for (std::int64_t n = smallest_square; n <= largest_square; n *= 2) {
            if (of != as + square_text(n)) continue;
            Product product = make(dtype, n);
            time(product);
            take(peak, product.gflops(), of);
            return true;
        }
        return false;
    }

    // Square products from 512 up, doubling while the largest takes less than 10 ms. Looked at anew in every
    // sample: a disturbed one does not end it. `peak`: what they are the peak of.
    void sample_products(DType dtype, DType peak, const std::string& as) {
        auto& products = products_[dtype];
        if (products.empty()) products.push_back(make(dtype, smallest_square));
        for (Product& product : products) time(product);
        while (products.back().best_ms < 10.0 && products.back().size() < largest_square) {
            products.push_back(make(dtype, 2 * products.back().size()));
            time(products.back());
        }
        if (products.size() > 2) products.erase(products.begin(), products.end() - 2);
        for (const Product& product : products)
            take(peak, product.gflops(), as + square_text(product.size()));
        if (device_.is_cpu() && has_tile_products(dtype)) sample_tiles(dtype, peak, as);
    }

    void sample_tiles(DType dtype, DType peak, const std::string& as) {
        double operations = 0.0;
        const double ms = best_of(6, [&] { operations = multiply_tiles(dtype, tile_repetitions); });
        take(peak, operations / ms / 1e6, as + tiles_text());
    }

    void take(DType dtype, double gflops, const std::string& of) {
        if (gflops <= peaks_.matmul_gflops[dtype]) return;
        peaks_.matmul_gflops[dtype] = gflops;
        peaks_.matmul_of[dtype] = of;
    }

    Product make(DType dtype, std::int64_t n) const {
        const auto options = at::device(device_).dtype(to_scalar_type(dtype));
        return {at::full({n, n}, 0.5, options), at::full({n, n}, 0.25, options), at::zeros({n, n}, options)};
    }

    // Three times, or once where that is slow.
    void time(Product& product) {
        constexpr double slow_ms = 50.0;
        const auto multiply = [&] { at::mm_out(product.c, product.a, product.b); };
        double ms = best_of(1, multiply);
        if (ms < slow_ms) ms = std::min(ms, best_of(2, multiply));
        product.best_ms = std::min(product.best_ms, ms);
    }

    std::vector<DType> dtypes_;
    c10::Device device_;
    Stopwatch& stopwatch_;
    at::Tensor from_, to_;
    std::map<DType, std::vector<Product>> products_;
    volatile std::uint64_t seen_ = 0;  // so that the reading is not left out
    Peaks peaks_;
};

PeakMeter::PeakMeter(std::vector<DType> dtypes, c10::Device device, const HostInfo& host,
                     Stopwatch& stopwatch)
    : state_(std::make_unique<State>(std::move(dtypes), device, host, stopwatch)) {}
PeakMeter::~PeakMeter() = default;
void PeakMeter::sample() { state_->sample(); }
void PeakMeter::sample_products() { state_->sample_products(); }
bool PeakMeter::sample_product(DType dtype, const std::string& of) {
    return state_->sample_product(dtype, of);
}
const Peaks& PeakMeter::peaks() const { return state_->peaks(); }

}  // namespace switchyard::bench
