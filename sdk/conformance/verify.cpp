#include <switchyard/conformance/verify.h>

#include <limits>
#include <stdexcept>

#include <ATen/Parallel.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/interfaces/reason_text.h>

namespace switchyard::conformance {
namespace {

// Of OperationCase or FreeCase.
template <class Case>
void run_cases(const std::vector<Case>& cases, const ComponentUnderTest& component, const Facts& facts,
               const VerifyOptions& options, Report& report) {
    for (const Case& one : cases) {
        if (options.max_faults > 0 && static_cast<std::int64_t>(report.faults.size()) >= options.max_faults)
            return;
        if (one.name.find(options.filter) == std::string::npos) continue;
        const Verdict verdict = ask(component, *one.request);
        if (!verdict.ok()) {
            ++report.skipped;
            for (const Reason& reason : verdict.reasons) ++report.skip_reasons[to_text(reason)];
            continue;
        }
        if (options.on_case) options.on_case(one.name);
        run_case(component, facts, one, report);
    }
}

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
    if (component.entry == nullptr) throw std::invalid_argument("verify: no component was given");
    const Facts facts = facts_of(*component.entry);
    const OneThread one_thread;
    Report report;
    report.component = component.plugin + "/" + component.entry->id;
    VerifyOptions on_cpu = options;  // cases refer to it
    on_cpu.device = Device::cpu;
    const auto run = [&](const auto& cases) { run_cases(cases, component, facts, options, report); };
    const auto run_operations = [&](const auto& make) {
        std::vector<OperationCase> cases = make(options);
        if (options.device != Device::cpu) {
            const std::vector<OperationCase> twins = make(on_cpu);
            for (std::size_t i = 0; i < cases.size(); ++i) cases[i].make_on_cpu = twins[i].make;
        }
        run(cases);
    };
    switch (facts.kind) {
        case Kind::attention:
            run_operations([&](const VerifyOptions& o) { return attention_cases(facts, o); });
            break;
        case Kind::normalization:
            run_operations([&](const VerifyOptions& o) { return normalization_cases(facts, o); });
            break;
        case Kind::activation:
            run_operations([&](const VerifyOptions& o) { return activation_cases(facts, o); });
            break;
        case Kind::loss:
            run_operations([&](const VerifyOptions& o) { return loss_cases(facts, o); });
            break;
        case Kind::optimizer:
            run(optimizer_cases(facts, options));
            break;
        case Kind::precision:
            run(precision_cases(facts, options));
            break;
        case Kind::data_loader:
            run(data_loader_cases(options));
            break;
        default:
            break;
    }
    return report;
}

}  // namespace switchyard::conformance
