// One call that holds a component against its contract and the reference:
//
//     const Report report = verify({"mine", descriptor.components[0], &manifest, &host}, {});
//
// For each case - shapes at the edges, strides, dtypes, masks, layouts, dropout, which gradients are asked
// for - the component is first asked by `supports`; what it refuses is skipped and counted with its reasons,
// what it accepts must be right. How right is derived for each case:
// at most twice (gradients: three times) the error of the reference run in the same dtype, both against the
// reference in float64, plus a few units in the last place; a component of Accuracy::reduced is held to its
// own bound. Around every input lies NaN.
//
// Besides the listed cases there are drawn ones, where `VerifyOptions::drawn` asks for them: any combination
// that `supports` accepts.
//
// An optimizer is followed for some steps beside the reference's and has its state taken over; a data loader
// is followed for two epochs of every rank and taken back into them, batch by batch as the reference orders
// and collates them; of a precision policy what it declares, scales, quantizes and keeps is held.
//
// The component is called directly, without the core: gradient mode `kernel` through Saved, `differentiable`
// through autograd, `recompute` and `none` forward only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <switchyard/conformance/checks.h>
#include <switchyard/conformance/report.h>
#include <switchyard/interfaces/component_manifest.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/types.h>

namespace switchyard::conformance {

struct ComponentUnderTest {
    std::string plugin;
    const SwitchyardComponent* entry = nullptr;
    const ComponentManifest* manifest = nullptr;  // what plugin.toml says of it; lives longer than the call
    const HostInfo* host = nullptr;               // lives longer than the call
    Options options;                              // defaults filled in
    std::string variant;                          // asked for, or empty
    // Told in the midst of which call of the component the run is, "supports", "create", "forward",
    // "backward" or "destroy", and "" behind it: a crash there is the component's. Calls of optimizers,
    // policies and data loaders are not told one by one.
    std::function<void(const char* call)> on_call = {};
};

struct VerifyOptions {
    std::uint64_t seed = 1;  // of the listed cases' data, which depends on this and on their names alone
    // So many cases besides, drawn by chance from what the component serves (draw.h). They and their data
    // depend on the seed and on their numbers, not on how many there are.
    std::int64_t drawn = 0;
    std::uint64_t drawn_seed = 1;
    // Optimizers are also followed for so many steps, with every algorithm at three learning rates; 0: they
    // are not.
    std::int64_t long_run = 0;
    Device device = Device::cpu;
    std::vector<DType> dtypes = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
    // Not empty: instead of listed and drawn cases there are `asked` of each of these requests of the
    // component's kind, as a run has them. Of optimizers, policies and data loaders, whose requests have few
    // sizes, the listed cases that are alike run.
    std::vector<std::shared_ptr<const Request>> requests;
    std::int64_t asked = 12;
    std::string filter;  // only cases whose name contains it
    Checks checks;
    bool only_ask = false;            // of listed cases what `supports` says of them; none runs
    std::int64_t max_faults = 0;      // stop there; 0: never
    bool nan_in_key_padding = false;  // NaN also past key_lengths, where the contract promises finite values
    std::function<void(const std::string&)> on_case;  // told each case's name before it runs

    // A run may end in the midst of a case, with the process: what is told before each one, its number and
    // name and what was found so far, is enough to go on behind it. Drawn cases are called "drawn/N" here.
    // `behind`: so many come behind it at most, for some may be refused or not be wanted once they are drawn.
    std::function<void(std::int64_t number, const std::string& name, std::int64_t behind,
                       const Report& so_far)>
        before_case;
    std::int64_t first = 0;  // cases before this number are passed over, and not in the report
};

// A case left a device that fails whatever is asked of it: what comes next needs another process.
class DeviceLost : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws DeviceLost, and std::invalid_argument when entry or manifest are missing, or are of
// different components; whatever else the component does becomes a fault.
Report verify(const ComponentUnderTest& component, const VerifyOptions& options);

}  // namespace switchyard::conformance
