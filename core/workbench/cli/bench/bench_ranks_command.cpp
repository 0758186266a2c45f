// switchyard launch -n N bench ranks: how fast the ranks sum up what each has, and what network that makes
// for `switchyard plan --ranks`.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include <ATen/ops/ones.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/train/train_ranks.h"
#include "core/workbench/scale/network_fit.h"

namespace switchyard::cli {
namespace {

struct RankBenchOptions {
    JobOptions job;
    std::vector<double> megabytes{0.004, 0.0625, 1.0, 4.0, 25.0};
    int repeats = 20;
    JsonOption json;
};

constexpr int warm_ups = 3;
constexpr double least_megabytes = 1e-6, most_megabytes = 16384.0;

struct TimedSize {
    std::int64_t bytes = 0;
    std::vector<double> ms;  // of the slowest rank each

    double at(double share) const { return bench::quantile(ms, share); }
    scale::TimedSum median() const { return {static_cast<double>(bytes), at(0.5)}; }
};

// A sum is done when its result can be read, on whatever device it is.
double timed_sum(distributed::Group& group, at::Tensor& values) {
    const auto start = std::chrono::steady_clock::now();
    group.sum(values);
    values.select(0, 0).item<float>();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TimedSize time_size(distributed::Group& group, Device device, double megabytes, int repeats) {
    const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(megabytes * 1e6 / sizeof(float)));
    const auto options = at::TensorOptions().dtype(at::kFloat).device(to_device_type(device));
    auto values = at::ones({count}, options);
    const auto spent = at::ones({repeats}, at::kDouble);
    for (int i = -warm_ups; i < repeats; ++i) {
        values.fill_(1.0);  // else they grow past what is finite
        const double ms = timed_sum(group, values);
        if (i >= 0) spent.select(0, i).fill_(ms);
    }
    TimedSize timed;
    timed.bytes = count * static_cast<std::int64_t>(sizeof(float));
    auto slowest = spent;
    for (const auto& rank : group.gather(spent.to(options.device()))) slowest = slowest.maximum(rank.cpu());
    const auto* const first = slowest.const_data_ptr<double>();
    timed.ms.assign(first, first + repeats);
    return timed;
}

int show(const RankBenchOptions& options, std::int64_t ranks, const std::vector<TimedSize>& sizes) {
    Table table({"of each rank", "ms [10 to 90 %]", "GB/s"});
    auto rows = nlohmann::ordered_json::array();
    std::vector<scale::TimedSum> sums;
    for (const auto& size : sizes) {
        const auto median = size.median();
        const double rate = scale::bus_gbytes_per_second(median, ranks);
        sums.push_back(median);
        table.row({base::bytes_text(median.bytes),
                   base::digits(median.ms) + " [" + base::digits(size.at(0.1)) + ", " +
                       base::digits(size.at(0.9)) + "]",
                   base::digits(rate)});
        rows.push_back({{"bytes", size.bytes},
                        {"ms", median.ms},
                        {"ms_10", size.at(0.1)},
                        {"ms_90", size.at(0.9)},
                        {"gbytes_per_second", rate}});
    }
    const auto link = scale::fitted_link(sums, ranks);
    nlohmann::ordered_json json{{"ranks", ranks}, {"repeats", options.repeats}, {"sums", std::move(rows)}};
    json["network"] = nullptr;
    if (link.known())
        json["network"] = {{"gbytes_per_second", link.gbytes_per_second}, {"latency_us", link.latency_us}};
    write_json(options.json, json);
    if (options.json.on_stdout()) return Exit::fine;
    std::cout << "sums over " << ranks << " ranks, as each gets them; GB/s: of each link, 2 (N - 1) / N of "
              << "the bytes\n"
              << table.render();
    if (link.known())
        std::cout << "\nas a ring: `switchyard plan CONFIG --ranks N --network "
                  << base::digits(link.gbytes_per_second) << "," << base::digits(link.latency_us)
                  << "` (GB/s, microseconds of a message)\n";
    return Exit::fine;
}

int run_ranks(const RankBenchOptions& options, TrainRanks* ranks) {
    if (ranks == nullptr || ranks->count() < 2)
        throw Failure(
            "bench ranks: error: this is one process; expected two or more that are started together, as "
            "`switchyard launch -n 2 bench ranks` or torchrun or mpirun do");
    const auto device = load_job_by_manifests(options.job).config.run.device;
    std::vector<TimedSize> sizes;
    for (const double megabytes : options.megabytes)
        sizes.push_back(time_size(ranks->group(), device, megabytes, options.repeats));
    return ranks->is_first() ? show(options, ranks->count(), sizes) : static_cast<int>(Exit::fine);
}

}  // namespace

Action setup_bench_ranks(CLI::App& command) {
    const auto options = std::make_shared<RankBenchOptions>();
    command
        .add_option("--megabytes", options->megabytes,
                    "what each rank brings to a sum: several sizes, with commas between")
        ->delimiter(',')
        ->check(CLI::Range(least_megabytes, most_megabytes))
        ->capture_default_str();
    command.add_option("--repeats", options->repeats, "sums of each size")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    add_overrides(command, options->job,
                  "set one value, as in --set distributed.interface=eth0 or --set run.device=cuda; may be "
                  "repeated");
    add_json(command, options->json);
    return [options] {
        return as_rank(options->job, [&](TrainRanks* ranks) { return run_ranks(*options, ranks); });
    };
}

}  // namespace switchyard::cli
