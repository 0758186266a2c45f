#include "core/workbench/bench/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <c10/util/Exception.h>

#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/resolver.h"
#include "core/kernel/runtime/memory_error.h"
#include "core/kernel/runtime/random_state.h"
#include "core/workbench/bench/accuracy.h"
#include "core/workbench/bench/bench_case.h"
#include "core/workbench/bench/measure/timing.h"
#include "core/workbench/bench/request_problem.h"

namespace switchyard::bench {
namespace {

using resolver::MeasuredCandidate;

// Times what the conformance suite allows: what is wrong is far off, and at one seed what is right may be a
// little beyond it.
constexpr double far_off = 4.0;

// A component's own allocation, or one that the core makes for it.
bool is_of_memory(const std::exception& error) {
    return dynamic_cast<const runtime::PluginMemoryError*>(&error) != nullptr ||
           dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
           dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

// A candidate on its way: bound, then tried, then timed.
struct Racer {
    const resolver::Candidate* candidate = nullptr;
    MeasuredCandidate measured;
    std::unique_ptr<Contender> contender;
    double best_ms =
        std::numeric_limits<double>::infinity();  // of the first calls: the best is disturbed the least
    double spent_ms = 0.0;

    void out(const std::string& why) {
        measured.failure = why;
        measured.ms = std::numeric_limits<double>::quiet_NaN();
        contender.reset();
    }
};

class Tuning {
public:
    Tuning(const resolver::SlotUse& use, const std::vector<resolver::Candidate>& candidates,
           runtime::Registry& registry, const HostInfo& host, Stopwatch& stopwatch,
           const TuneOptions& options)
        : use_(use),
          candidates_(candidates),
          registry_(registry),
          host_(host),
          stopwatch_(stopwatch),
          options_(options),
          problem_(problem_of(use.kind, *use.request)) {
        problem_.settings.seed = options.seed;
        case_ = make_case(problem_.settings, problem_.shape, problem_.dtype);
        truth_.emplace(*case_, problem_.pass, problem_.dtype);
    }

    Tuned run() {
        racers_.reserve(candidates_.size());
        for (const auto& candidate : candidates_) try_out(candidate);
        first_calls();
        race();
        resolver::Measurement measurement;
        measurement.shape_class = resolver::shape_class(use_.kind, *use_.request);
        measurement.sample = problem_.sample;
        for (auto& racer : racers_) measurement.candidates.push_back(std::move(racer.measured));
        return {std::move(measurement), lacked_memory_};
    }

private:
    // Whatever a candidate's code throws puts it out; what the machine lacks does so for now.
    template <class Function>
    void attempt(Racer& racer, Function&& function) {
        try {
            function();
        } catch (const std::exception& error) {
            lacked_memory_ = lacked_memory_ || is_of_memory(error);
            const std::string text = error.what();
            racer.out("it threw: " + text.substr(0, text.find('\n')));
        }
    }

    void try_out(const resolver::Candidate& candidate) {
        auto& racer = racers_.emplace_back();
        racer.candidate = &candidate;
        racer.measured = resolver::identity(candidate, use_.config);
        attempt(racer, [&] {
            auto use = use_;
            use.config.backend = {candidate.full_name()};
            const auto row = resolver::resolve(use, candidates_, host_, {.explain = false});
            if (!row.chosen) throw std::runtime_error(row.error);
            racer.contender = case_->bind(row, registry_, host_, problem_.pass);
            check(racer, *row.chosen);
        });
    }

    // One call: an optimizer's second step begins elsewhere.
    void check(Racer& racer, const resolver::Chosen& chosen) {
        if (!case_->checkable()) {
            for (const auto& result : racer.contender->results(true)) {
                if (!at::isfinite(result.value).all().item<bool>())
                    return racer.out(result.name + " is not finite");
            }
            return;
        }
        const double bound = chosen.accuracy == Accuracy::reduced ? chosen.accuracy_bound : 0.0;
        const auto error = truth_->error_of(*racer.contender, bound);
        if (error.error <= far_off * error.allowed) return;
        if (!std::isfinite(error.error)) return racer.out("the " + error.of + " is not finite");
        char text[64];
        std::snprintf(text, sizeof text, "%.2g, allowed are %.2g", error.error, error.allowed);
        racer.out("it is wrong: the " + error.of + " is off by " + text);
    }

    // In turns, so that a neighbour who disturbs one call does not disturb all of a candidate's.
    void first_calls() {
        for (int turn = 0; turn < options_.first_calls; ++turn) {
            for (auto& racer : racers_) {
                const bool long_enough = turn >= 2 && racer.spent_ms > options_.time_budget_ms / 4.0;
                if (racer.contender && !long_enough) attempt(racer, [&] { first_call(racer); });
            }
        }
    }

    void first_call(Racer& racer) {
        const double start = stopwatch_.now_ms();
        racer.contender->run();
        const double taken = std::max(stopwatch_.now_ms() - start, 1e-6);
        racer.spent_ms += taken;
        racer.best_ms = racer.measured.ms = std::min(racer.best_ms, taken);
    }

    void race() {
        double fastest = std::numeric_limits<double>::infinity();
        for (const auto& racer : racers_) {
            if (racer.contender) fastest = std::min(fastest, racer.best_ms);
        }
        std::vector<Racer*> close;
        for (auto& racer : racers_) {
            if (racer.contender && racer.best_ms <= options_.far_behind * fastest) close.push_back(&racer);
        }
        while (!close.empty() && !timed(close)) {
            std::erase_if(close, [](const Racer* racer) { return racer->contender == nullptr; });
        }
    }

    // False if one of them threw: it is out, and the others start again.
    bool timed(const std::vector<Racer*>& close) {
        std::vector<Arm> arms;
        for (auto* racer : close) {
            arms.push_back({racer->measured.name, [this, racer] {
                                attempt(*racer, [racer] { racer->contender->run(); });
                                if (!racer->contender) throw Out{};
                            }});
        }
        TimingOptions timing;
        timing.time_budget_ms = options_.time_budget_ms;
        timing.min_blocks = 5;
        timing.max_blocks = 25;
        timing.min_sample_ms = 1.0;
        timing.warm_up_ms = 4.0;
        timing.seed = options_.seed;
        try {
            const auto result = time_arms(arms, timing, stopwatch_);
            for (std::size_t i = 0; i < close.size(); ++i) {
                const auto& ms = result.arms[i].ms;
                close[i]->measured.ms = std::max(ms.median, 1e-6);
                close[i]->measured.low = ms.low;
                close[i]->measured.high = ms.high;
            }
            return true;
        } catch (const Out&) {
            return false;
        }
    }

    struct Out {};

    const resolver::SlotUse& use_;
    const std::vector<resolver::Candidate>& candidates_;
    runtime::Registry& registry_;
    const HostInfo& host_;
    Stopwatch& stopwatch_;
    const TuneOptions& options_;
    RequestProblem problem_;
    std::unique_ptr<BenchCase> case_;
    std::optional<Truth> truth_;
    std::vector<Racer> racers_;
    bool lacked_memory_ = false;
};

}  // namespace

Tuned measure(const resolver::SlotUse& use, const std::vector<resolver::Candidate>& candidates,
              runtime::Registry& registry, const HostInfo& host, Stopwatch& stopwatch,
              const TuneOptions& options) {
    // Components of RandomSource::library draw from the generator, which is then put back.
    const Device device = use.request->device;
    const runtime::ReplayRandom kept(runtime::RandomState::capture(device), device);
    return Tuning(use, candidates, registry, host, stopwatch, options).run();
}

}  // namespace switchyard::bench
