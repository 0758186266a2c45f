#include "core/workbench/cli/job/matmul_peak.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"

namespace switchyard::cli {
namespace {

constexpr int first_samples = 3,
              later_samples = 1;  // later: of a peak that is kept, which one may still raise

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

constexpr const char* rate_key = "flops_per_second";  // of products; of memory it is bytes

// Its file has no ".json", as the measurements of components beside it have: it is none of them.
std::string rate_name(const std::string& dtype) { return "matmul-" + dtype; }

bool all_kept(const std::set<DType>& dtypes, const std::string& folder) {
    std::error_code ignored;
    return !folder.empty() && std::ranges::all_of(dtypes, [&](DType dtype) {
        return std::filesystem::exists(folder + "/" + rate_name(std::string(name(dtype))) + ".peak", ignored);
    });
}

}  // namespace

MeasuredRate highest_rate(const MeasuredRate& now, const std::string& folder) {
    if (folder.empty()) return now;
    const auto file = folder + "/" + now.name + ".peak";
    try {
        if (const auto text = base::read_text(file, base::limits::json_bytes)) {
            const auto kept = base::parse_object(*text, file);
            const auto rate = base::number_of(kept, rate_key);
            if (rate && *rate > now.per_second) return {*rate, now.name, base::text_of(kept, "of")};
        }
    } catch (const base::InputError&) {
        // It is written anew.
    }
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    (void)base::write_file_atomically(file,
                                      base::Json{{rate_key, now.per_second}, {"of", now.of}}.dump() + "\n");
    return now;
}

train::MatmulPeak highest_matmul_peak(const train::MatmulPeak& now, const std::string& folder) {
    const auto highest = highest_rate({now.flops_per_second, rate_name(now.dtype), now.of}, folder);
    return {highest.per_second, now.dtype, highest.of};
}

std::optional<train::MatmulPeak> measure_matmul_peak(const resolver::Plan& plan, Device device,
                                                     const std::string& folder) {
    const auto dtypes = multiplied_dtypes(plan);
    if (dtypes.empty()) return std::nullopt;
    const c10::Device at(to_device_type(device));
    bench::HostStopwatch stopwatch([at] { bench::synchronize(at); });
    std::optional<train::MatmulPeak> best;
    {
        bench::PeakMeter meter({dtypes.begin(), dtypes.end()}, at, plan.host, stopwatch);
        const bool kept = device == Device::cpu && all_kept(dtypes, folder);
        for (int i = 0; i < (kept ? later_samples : first_samples); ++i) meter.sample_products();
        for (const auto& [dtype, gflops] : meter.peaks().matmul_gflops) {
            train::MatmulPeak peak{1e9 * gflops, std::string(name(dtype)), meter.peaks().matmul_of.at(dtype)};
            if (device == Device::cpu) peak = highest_matmul_peak(peak, folder);
            if (!best || best->flops_per_second < peak.flops_per_second) best = std::move(peak);
        }
    }
    machine::trim_cpu_cache();
    machine::reset_cpu_peak();
    return best;
}

}  // namespace switchyard::cli
