#include <switchyard/conformance/verify.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/growth.h>
#include <switchyard/conformance/process_state.h>
#include <switchyard/conformance/twins.h>
#include <switchyard/interfaces/reason_text.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

bool enough(const VerifyOptions& options, const Report& report) {
    return options.max_faults > 0 && static_cast<std::int64_t>(report.faults.size()) >= options.max_faults;
}

// Which case is next, of those whose names are wanted.
class Turn {
public:
    Turn(const VerifyOptions& options, const Report& report) : options_(options), report_(report) {}

    // So many more cases are there, besides those that were told before.
    void expect(std::int64_t cases) { all_ += cases; }
    template <class Case>
    void expect(const std::vector<Case>& cases) {
        expect(std::ranges::count_if(cases, [&](const Case& one) { return wanted(one.name); }));
    }

    bool wanted(const std::string& name) const { return name.find(options_.filter) != std::string::npos; }

    // False: it is passed over.
    bool of(const std::string& name) {
        const auto number = next_++;
        if (number < options_.first) return false;
        if (options_.before_case) options_.before_case(number, name, all_ - next_, report_);
        return true;
    }

private:
    const VerifyOptions& options_;
    const Report& report_;
    std::int64_t next_ = 0, all_ = 0;
};

// A kernel that reads or writes where it may not fails when it is waited for, and everything after it, too.
void look_at(Device device) {
    if (device == Device::cpu) return;
    try {
        c10::impl::VirtualGuardImpl(to_device_type(device)).synchronizeDevice(0);
    } catch (const std::exception& error) {
        const std::string text = error.what();
        throw DeviceLost("the device fails since then: " + text.substr(0, text.find('\n')));
    }
}

// Runs a case, and looks at what it left behind in the process.
template <class Case>
void run_and_look(const ComponentUnderTest& component, const Facts& facts, const Case& one,
                  const VerifyOptions& options, Report& report) {
    const bool generator = facts.random != RandomSource::library;
    const auto before = ProcessState::now(generator);
    Report found;
    run_case(component, facts, one, options.checks, found);
    look_at(one.request->device);
    const auto changes = before.changes(ProcessState::now(generator));
    if (!changes.empty()) before.restore();
    for (const auto& change : changes) found.faults.push_back({"changed_state", one.name, change});
    add_case(report, std::move(found), options.checks);
}

// What `supports` says of a case.
void note_support(const std::string& name, const Verdict& verdict, Report& report) {
    auto& noted = report.support.emplace_back();
    noted.where = name;
    for (const Reason& reason : verdict.reasons) noted.refused.push_back(to_text(reason));
    if (!verdict.ok() && noted.refused.empty()) noted.refused.emplace_back("no reason was given");
    if (verdict.ok()) ++report.cases;
}

// Of OperationCase or FreeCase.
template <class Case>
void run_cases(const std::vector<Case>& cases, const ComponentUnderTest& component, const Facts& facts,
               const VerifyOptions& options, Turn& turn, Report& report) {
    for (const Case& one : cases) {
        if (enough(options, report)) return;
        if (!turn.wanted(one.name) || !turn.of(one.name)) continue;
        const Verdict verdict = ask(component, *one.request);
        if (options.only_ask) note_support(one.name, verdict, report);
        if (!verdict.ok()) {
            ++report.skipped;
            for (const Reason& reason : verdict.reasons) ++report.skip_reasons[to_text(reason)];
            continue;
        }
        if (options.only_ask) continue;
        if (options.on_case) options.on_case(one.name);
        run_and_look(component, facts, one, options, report);
    }
}

// A formula that plugin.toml names is served in some case, at least where the component serves anything.
template <class Traits, class Case>
void check_own_formulas(Traits kind, const std::vector<Case>& cases, const ComponentUnderTest& component,
                        const Facts& facts, const VerifyOptions& options, Report& report) {
    if (!options.filter.empty() || options.first > 0 || report.cases == 0) return;
    for (const std::string& custom : facts.custom) {
        const bool served = std::ranges::any_of(cases, [&](const Case& one) {
            return kind.request(*one.request).custom == custom && ask(component, *one.request).ok();
        });
        if (served) continue;
        ++report.failed;
        report.faults.push_back({"never_served", std::string(custom_prefix) + custom,
                                 "plugin.toml names it, and supports refuses every case of it"});
    }
}

// Whether memory is looked at.
bool repeats(const VerifyOptions& options) {
    return options.checks.robustness && options.device == Device::cpu;
}

// The first case that is served and right, again and again: it must not keep memory each time.
template <class Case>
void run_repeated(const std::vector<Case>& cases, const ComponentUnderTest& component, const Facts& facts,
                  const VerifyOptions& options, Turn& turn, Report& report) {
    const std::string repeated = "/repeated";
    const auto found = std::ranges::find_if(cases, [&](const Case& one) {
        return (one.name + repeated).find(options.filter) != std::string::npos &&
               ask(component, *one.request).ok() &&
               std::ranges::count(report.faults, one.name, &Fault::where) == 0;
    });
    if (!repeats(options)) return;
    if (found == cases.end() || enough(options, report)) return turn.expect(-1);
    const auto name = found->name + repeated;
    if (!turn.of(name)) return;
    if (options.on_case) options.on_case(name);
    std::vector<Fault> faults;
    const auto kept = growth_of([&] {
        Report each;
        run_case(component, facts, *found, {}, each);
    });
    if (kept > 0)
        faults.push_back(
            {"leaks", "", "memory grows by " + std::to_string(kept) + " bytes in each run of the case"});
    file(report, name, std::move(faults), 0.0);
}

// `make` gives a case of one draw.
template <class Make>
void run_drawn(const Make& make, const ComponentUnderTest& component, const Facts& facts,
               const VerifyOptions& options, Turn& turn, Report& report) {
    for (std::int64_t number = 0; number < options.drawn && !enough(options, report); ++number) {
        if (!turn.of("drawn/" + std::to_string(number))) continue;
        for (int attempt = 0; attempt < Draw::attempts; ++attempt) {
            const auto one = make(number, attempt);
            if (!ask(component, *one.request).ok()) continue;
            if (one.name.find(options.filter) == std::string::npos) break;
            if (options.on_case) options.on_case(one.name);
            const std::size_t before = report.faults.size();
            const auto ran = report.cases;
            run_and_look(component, facts, one, options, report);
            report.drawn += report.cases - ran;
            for (std::size_t i = before; i < report.faults.size(); ++i) report.faults[i].drawn = number;
            break;
        }
    }
}

// The calls of verify() for one kind.
class KindRun {
public:
    KindRun(const ComponentUnderTest& component, const Facts& facts, const VerifyOptions& options,
            Report& report)
        : component_(component), facts_(facts), options_(options), report_(report) {
        drawing_ = options;
        drawing_.seed = options.drawn_seed;
        on_cpu_ = options;
        on_cpu_.device = Device::cpu;
        drawing_on_cpu_ = drawing_;
        drawing_on_cpu_.device = Device::cpu;
    }

    template <class Traits>
    void run(Traits kind) {
        if (!options_.requests.empty()) return run_asked(kind);
        auto cases = listed_cases(kind, facts_, options_);
        if constexpr (has_twins<decltype(cases)>) {
            if (options_.device != Device::cpu) {
                add_twins(cases, listed_cases(kind, facts_, on_cpu_));
            }
        }
        Turn turn(options_, report_);
        turn.expect(cases);
        if (!options_.only_ask) turn.expect(options_.drawn + (repeats(options_) ? 1 : 0));
        run_cases(cases, component_, facts_, options_, turn, report_);
        if (options_.only_ask) return;
        if constexpr (requires(typename Traits::Request request) { request.custom; })
            check_own_formulas(kind, cases, component_, facts_, options_, report_);
        run_repeated(cases, component_, facts_, options_, turn, report_);
        const auto drawn = [&](std::int64_t number, int attempt) {
            Draw draw(facts_.kind, number, attempt, drawing_.seed), again = draw;
            auto one = drawn_case(kind, draw, facts_, drawing_);
            if constexpr (has_twins<decltype(cases)>) {
                if (options_.device != Device::cpu)
                    add_twin(one, drawn_case(kind, again, facts_, drawing_on_cpu_));
            }
            return one;
        };
        run_drawn(drawn, component_, facts_, options_, turn, report_);
    }

private:
    template <class Traits>
    void run_asked(Traits kind) {
        Turn turn(options_, report_);
        std::vector<decltype(asked_cases(kind, kind.request(*options_.requests[0]), 0))> all;
        for (std::size_t at = 0; at < options_.requests.size(); ++at) {
            const auto& asked = kind.request(*options_.requests[at]);
            all.push_back(asked_cases(kind, asked, static_cast<std::int64_t>(at)));
            turn.expect(all.back());
        }
        for (const auto& cases : all) run_cases(cases, component_, facts_, options_, turn, report_);
    }

    template <class Traits>
    auto asked_cases(Traits kind, const typename Traits::Request& asked, std::int64_t at) {
        if constexpr (requires { is_alike(asked, asked); }) {
            auto cases = listed_cases(kind, facts_, options_);
            std::erase_if(cases,
                          [&](const auto& one) { return !is_alike(kind.request(*one.request), asked); });
            return cases;
        } else {
            std::vector<OperationCase> cases;
            for (std::int64_t number = 0; number < options_.asked; ++number) {
                RequestDraw draw(kind.kind, at, number, drawing_.seed), again = draw;
                cases.push_back(requested_case(asked, draw, facts_, drawing_));
                cases.back().request = options_.requests[static_cast<std::size_t>(at)];
                if (options_.device != Device::cpu)
                    add_twin(cases.back(), requested_case(asked, again, facts_, drawing_on_cpu_));
            }
            return cases;
        }
    }

    // Operations that run on another device are set against the same on the CPU.
    template <class Cases>
    static constexpr bool has_twins = std::is_same_v<Cases, std::vector<OperationCase>>;

    const ComponentUnderTest& component_;
    const Facts& facts_;
    const VerifyOptions& options_;
    Report& report_;
    VerifyOptions drawing_, on_cpu_, drawing_on_cpu_;  // cases refer to them
};

// Cases are small: most run with one thread, a few say that they want more.
class OneThread {
public:
    OneThread() { at::set_num_threads(1); }
    ~OneThread() { at::set_num_threads(before_); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    int before_ = at::get_num_threads();
};

}  // namespace

const char* short_name(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return "f32";
        case DType::float64:
            return "f64";
        case DType::bfloat16:
            return "bf16";
        case DType::float16:
            return "f16";
        default:
            return name(dtype).data();
    }
}

double surroundings(const Variation& variation) {
    return variation.poison ? std::numeric_limits<double>::quiet_NaN() : 0.0;
}

Report verify(const ComponentUnderTest& component, const VerifyOptions& options) {
    if (component.entry == nullptr || component.manifest == nullptr)
        throw std::invalid_argument(
            "verify: a component is its entry and its manifest; one of them is missing");
    const Facts& facts = *component.manifest;
    if (name(facts.kind) != component.entry->kind || facts.id != component.entry->id) {
        throw std::invalid_argument("verify: the entry is of " + std::string(component.entry->kind) + " '" +
                                    component.entry->id + "', its manifest of " +
                                    std::string(name(facts.kind)) + " '" + facts.id + "'");
    }
    const OneThread one_thread;
    Report report;
    report.component = component.plugin + "/" + component.entry->id;
    KindRun run(component, facts, options, report);
    visit(facts.kind, [&](auto kind) { run.run(kind); });
    return report;
}

}  // namespace switchyard::conformance
