#include "core/workbench/cli/job/matmul_peak.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
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
constexpr std::chrono::hours holds_at_most{24};

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

std::string rate_file(const std::string& name, const std::string& folder) {
    return folder + "/" + name + ".peak";
}

// Nothing where there is no file that says it.
std::optional<MeasuredRate> kept_rate(const std::string& name, const std::string& folder) {
    const auto file = rate_file(name, folder);
    try {
        if (const auto text = base::read_text(file, base::limits::json_bytes)) {
            const auto kept = base::parse_object(*text, file);
            if (const auto rate = base::number_of(kept, rate_key))
                return MeasuredRate{*rate, name, base::text_of(kept, "of")};
        }
    } catch (const base::InputError&) {
        // It is written anew.
    }
    return std::nullopt;
}

// Of each dtype; empty: of one of them nothing is kept.
std::map<DType, MeasuredRate> kept_rates(const std::set<DType>& dtypes, const std::string& folder) {
    std::map<DType, MeasuredRate> rates;
    if (folder.empty()) return rates;
    for (const DType dtype : dtypes) {
        auto kept = kept_rate(rate_name(std::string(name(dtype))), folder);
        if (!kept) return {};
        rates.emplace(dtype, std::move(*kept));
    }
    return rates;
}

// A file's time is that of the last measurement of all products.
bool is_recent(const std::string& file) {
    using Clock = std::filesystem::file_time_type::clock;
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    const auto now = Clock::now();
    return !error && written <= now && now - written < holds_at_most;
}

void note_measured_now(const std::string& file) {
    std::error_code ignored;
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now(), ignored);
}

// Whether what reached each of them gets no higher now. Where it does, the machine is freer than it was, and
// other products may get higher still.
bool still_hold(const std::map<DType, MeasuredRate>& kept, const std::string& folder,
                bench::PeakMeter& meter) {
    return !kept.empty() && std::ranges::all_of(kept, [&](const auto& of_dtype) {
        const auto& rate = of_dtype.second;
        return is_recent(rate_file(rate.name, folder)) && meter.sample_product(of_dtype.first, rate.of) &&
               1e9 * meter.peaks().matmul(of_dtype.first) <= rate.per_second;
    });
}

}  // namespace

MeasuredRate highest_rate(const MeasuredRate& now, const std::string& folder) {
    if (folder.empty()) return now;
    if (auto kept = kept_rate(now.name, folder); kept && kept->per_second > now.per_second) return *kept;
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    (void)base::write_file_atomically(rate_file(now.name, folder),
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
        const bool on_cpu = device == Device::cpu;
        const auto kept = on_cpu ? kept_rates(dtypes, folder) : std::map<DType, MeasuredRate>();
        const bool hold = still_hold(kept, folder, meter);
        const int samples = kept.empty() ? first_samples : hold ? 0 : later_samples;
        for (int i = 0; i < samples; ++i) meter.sample_products();
        for (const auto& [dtype, gflops] : meter.peaks().matmul_gflops) {
            train::MatmulPeak peak{1e9 * gflops, std::string(name(dtype)), meter.peaks().matmul_of.at(dtype)};
            if (on_cpu) peak = highest_matmul_peak(peak, folder);
            if (on_cpu && !hold && !folder.empty())
                note_measured_now(rate_file(rate_name(peak.dtype), folder));
            if (!best || best->flops_per_second < peak.flops_per_second) best = std::move(peak);
        }
    }
    machine::trim_cpu_cache();
    machine::reset_cpu_peak();
    return best;
}

}  // namespace switchyard::cli
