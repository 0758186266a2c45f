#include "core/workbench/bench/bench_run.h"

#include <algorithm>
#include <optional>

#include "core/kernel/base/joined.h"
#include "core/kernel/resolver/resolver.h"
#include "core/kernel/runtime/guard.h"
#include "core/workbench/bench/accuracy.h"
#include "core/workbench/bench/bench_case.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"

namespace switchyard::bench {

namespace {

const c10::Device cpu(c10::DeviceType::CPU);

// A backend in the group that is being run: its row, and where it can be called, what to call.
struct Entry {
    BenchRow row;
    double bound = 0.0;  // of a reduced component
    std::unique_ptr<Contender> contender;
};

class Bench {
public:
    Bench(const BenchRequest& request, const BenchWorld& world)
        : request_(request), world_(world), meter_(request.dtypes, cpu, world.host, world.stopwatch) {
        // Of a swept base its first value.
        base_ = request.base;
        if (const auto value = request.base.empty() ? std::nullopt : swept_values(request.base).front())
            base_ = swept_name(request.base, request.sweep->option, *value);
    }

    BenchReport run() {
        const double start = world_.stopwatch.now_ms();
        meter_.sample();
        for (const BenchShape& shape : request_.shapes) {
            for (const DType dtype : request_.dtypes) run_case(shape, dtype);
        }
        set_against_peaks();
        // Nothing is faster than the peak: one that says so was disturbed every time that it was measured.
        for (int again = 0; again < 5 && above_peak(); ++again) {
            meter_.sample();
            set_against_peaks();
        }
        report_.elapsed_ms = world_.stopwatch.now_ms() - start;
        return std::move(report_);
    }

private:
    void run_case(const BenchShape& shape, DType dtype) {
        const std::unique_ptr<BenchCase> bench_case = make_case(request_.settings, shape, dtype);
        for (const Pass pass : request_.passes) {
            if (world_.progress)
                world_.progress(shape.text + " " + std::string(name(dtype)) + " " + std::string(name(pass)));
            run_group(*bench_case, shape, dtype, pass);
            meter_.sample();
        }
    }

    void run_group(BenchCase& bench_case, const BenchShape& shape, DType dtype, Pass pass) {
        std::vector<Entry> entries;
        for (const std::string& backend : request_.backends) {
            for (const auto value : swept_values(backend)) {
                Entry entry;
                entry.row.settings = request_.settings;
                entry.row.dtype = dtype;
                entry.row.shape = shape.text;
                entry.row.pass = pass;
                entry.row.asked = backend;
                entry.row.base = base_;
                if (value) {
                    entry.row.swept_option = request_.sweep->option;
                    entry.row.swept_value = *value;
                }
                attempt(entry, [&] { prepare(entry, bench_case); });
                entries.push_back(std::move(entry));
            }
        }
        truth_.reset();
        time(entries);
        for (Entry& entry : entries) {
            if (entry.row.timed()) rate(entry.row, bench_case.work(pass));
            report_.rows.push_back(std::move(entry.row));
        }
    }

    // The component's options if it declares the one that is swept, else nullptr. A variant has its
    // component's.
    static Options* swept_options(config::SlotConfig& slot, const std::string& backend,
                                  const std::string& option) {
        const auto component = backend.substr(0, backend.find('@'));
        for (const auto& key : {component, component.substr(component.find('/') + 1)}) {
            const auto found = slot.options.find(key);
            if (found != slot.options.end() && found->second.values().count(option) > 0)
                return &found->second;
        }
        return nullptr;
    }

    // One nullopt for a backend that is run as it is.
    std::vector<std::optional<std::int64_t>> swept_values(const std::string& backend) const {
        auto slot = request_.slot;
        if (!request_.sweep || swept_options(slot, backend, request_.sweep->option) == nullptr)
            return {std::nullopt};
        return {request_.sweep->values.begin(), request_.sweep->values.end()};
    }

    // Whatever the backend's code throws makes its row a failed one.
    template <class Function>
    void attempt(Entry& entry, Function&& function) {
        try {
            function();
        } catch (const runtime::PluginError& error) {
            fail(entry, error.what());
        } catch (const std::invalid_argument& error) {
            fail(entry, error.what());
        }
    }

    static void fail(Entry& entry, const std::string& message) {
        entry.contender.reset();
        entry.row.status = RowStatus::failed;
        entry.row.message = message;
    }

    void prepare(Entry& entry, BenchCase& bench_case) {
        resolver::SlotUse use = bench_case.use(entry.row.pass);
        use.config = request_.slot;
        use.config.backend = {entry.row.asked};
        if (!entry.row.swept_option.empty())
            swept_options(use.config, entry.row.asked, entry.row.swept_option)
                ->set(entry.row.swept_option, entry.row.swept_value);
        const resolver::PlanRow plan =
            resolver::resolve(use, world_.candidates, world_.host, {.explain = false});
        if (!plan.chosen) return refuse(entry, plan);
        entry.row.plugin = plan.chosen->plugin;
        entry.row.component = plan.chosen->component;
        entry.row.composed = plan.chosen->composed;
        entry.bound = plan.chosen->accuracy == Accuracy::reduced ? plan.chosen->accuracy_bound : 0.0;
        entry.row.reduced = entry.bound > 0.0;
        entry.contender = bench_case.bind(plan, world_.registry, world_.host, entry.row.pass);
        check(entry, bench_case);
        if (entry.row.pass == Pass::backward)
            entry.contender->run();  // makes the graph, which is not counted
        entry.row.extra_memory_bytes = extra_memory([&] { entry.contender->run(); }, cpu);
        entry.row.state_bytes = entry.contender->state_bytes();
        entry.row.spared_bytes = entry.contender->spared_bytes();
    }

    static void refuse(Entry& entry, const resolver::PlanRow& plan) {
        entry.row.status = RowStatus::refused;
        for (const resolver::CandidateOutcome& outcome : plan.candidates) {
            if (outcome.why_not.empty() && !outcome.ok)
                entry.row.reasons.insert(entry.row.reasons.end(), outcome.reasons.begin(),
                                         outcome.reasons.end());
        }
        if (entry.row.reasons.empty()) entry.row.message = plan.error;
    }

    void check(Entry& entry, BenchCase& bench_case) {
        if (!bench_case.checkable()) return entry.contender->run();
        if (!truth_) truth_.emplace(bench_case, entry.row.pass, entry.row.dtype);
        entry.row.error = truth_->error_of(*entry.contender, entry.bound);
        entry.row.error.without_dropout &= request_.settings.dropout > 0.0;
        if (entry.row.error.exceeded()) entry.row.status = RowStatus::wrong;
    }

    void time(std::vector<Entry>& entries) {
        std::vector<Arm> arms;
        std::vector<Entry*> timed;
        for (Entry& entry : entries) {
            if (!entry.contender) continue;
            // Backward alone is counted where its graph was made.
            if (entry.row.pass != Pass::backward) entry.contender->binding().executed().reset();
            arms.push_back({entry.row.named(), [contender = entry.contender.get()] { contender->run(); }});
            timed.push_back(&entry);
        }
        if (arms.empty()) return;
        TimingOptions options = request_.timing;
        options.time_budget_ms /=
            static_cast<double>(request_.shapes.size() * request_.dtypes.size() * request_.passes.size());
        TimingResult result;
        try {
            result = time_arms(arms, options, world_.stopwatch);
        } catch (const runtime::PluginError& error) {
            return time_without(entries, error);
        }
        std::optional<std::size_t> base;
        for (std::size_t arm = 0; arm < arms.size(); ++arm) {
            if (arms[arm].name == base_) base = arm;
        }
        for (std::size_t arm = 0; arm < arms.size(); ++arm) fill_timing(*timed[arm], result, arm, base);
    }

    // The others, when one that passed its check throws later on.
    void time_without(std::vector<Entry>& entries, const runtime::PluginError& error) {
        for (Entry& entry : entries) {
            if (entry.contender && entry.row.plugin == error.plugin && entry.row.component == error.component)
                fail(entry, error.what());
        }
        time(entries);
    }

    static void fill_timing(Entry& entry, const TimingResult& result, std::size_t arm,
                            std::optional<std::size_t> base) {
        const ArmTiming& timing = result.arms[arm];
        entry.row.ms = timing.ms;
        entry.row.blocks = result.blocks;
        entry.row.outliers = timing.outliers;
        entry.row.calls_per_sample = timing.calls_per_sample;
        if (base) entry.row.speedup = result.speedup_of(arm, *base);
        for (const auto& [variant, calls] : entry.contender->binding().executed().calls()) {
            entry.row.executed.emplace_back(variant, calls);
            base::add_item(entry.row.variant, variant, "+");
        }
    }

    static void rate(BenchRow& row, const Work& work) {
        row.memory_bound = work.memory_bound;
        row.reads_only = work.reads_only;
        row.footprint_bytes =
            work.bytes + 2.0 * static_cast<double>(row.state_bytes) - static_cast<double>(row.spared_bytes);
        if (work.flops > 0.0) row.gflops = work.flops / row.ms.median / 1e6;
        row.gbytes_per_second = row.footprint_bytes / row.ms.median / 1e6;
    }

    void set_against_peaks() {
        report_.peaks = meter_.peaks();
        for (BenchRow& row : report_.rows) {
            if (!row.timed()) continue;
            row.percent_of_peak = 100.0 * row.gflops / report_.peaks.matmul(row.dtype);
            row.percent_of_copy_bandwidth =
                100.0 * row.gbytes_per_second / report_.peaks.copy_gbytes_per_second;
            row.percent_of_read_bandwidth =
                100.0 * row.gbytes_per_second / report_.peaks.read_gbytes_per_second;
        }
    }

    bool above_peak() const {
        return std::any_of(report_.rows.begin(), report_.rows.end(),
                           [](const BenchRow& row) { return !row.reduced && row.percent_of_peak > 100.0; });
    }

    const BenchRequest& request_;
    const BenchWorld& world_;
    PeakMeter meter_;
    std::string base_;            // as rows name themselves
    std::optional<Truth> truth_;  // of the group that is being run
    BenchReport report_;
};

}  // namespace

BenchReport run_bench(const BenchRequest& request, const BenchWorld& world) {
    return Bench(request, world).run();
}

}  // namespace switchyard::bench
