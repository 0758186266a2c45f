#include "core/workbench/cli/matmul_peak.h"

#include <set>
#include <vector>

#include <c10/core/Device.h>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"

namespace switchyard::cli {
namespace {

constexpr int peak_samples = 3;

// Empty: one of them is in numbers whose products are not measured.
std::set<DType> multiplied_dtypes(const resolver::Plan& plan) {
    std::set<DType> dtypes;
    for (const auto& row : plan.rows) {
        if (row.use.kind != Kind::linear || row.use.phase != Phase::train) continue;
        const auto& request = KindTraits<Kind::linear>::request(*row.use.request);
        if (request.tf32 || request.weight_format != WeightFormat::dense) return {};
        dtypes.insert(request.dtype);
    }
    return dtypes;
}

}  // namespace

std::optional<train::MatmulPeak> measure_matmul_peak(const resolver::Plan& plan, Device device) {
    const auto dtypes = multiplied_dtypes(plan);
    if (dtypes.empty()) return std::nullopt;
    const c10::Device at(to_device_type(device));
    bench::HostStopwatch stopwatch([at] { bench::synchronize(at); });
    std::optional<train::MatmulPeak> best;
    {
        bench::PeakMeter meter({dtypes.begin(), dtypes.end()}, at, plan.host, stopwatch);
        for (int i = 0; i < peak_samples; ++i) meter.sample_products();
        for (const auto& [dtype, gflops] : meter.peaks().matmul_gflops) {
            if (best && best->flops_per_second >= 1e9 * gflops) continue;
            best =
                train::MatmulPeak{1e9 * gflops, std::string(name(dtype)), meter.peaks().matmul_of.at(dtype)};
        }
    }
    machine::trim_cpu_cache();
    machine::reset_cpu_peak();
    return best;
}

}  // namespace switchyard::cli
