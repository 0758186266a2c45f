// An arm of a comparison that this program is itself: one configuration, trained for as many steps as the
// coordinator asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/config.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/measure/stopwatch.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/compare/arms/random_samples.h"
#include "core/workbench/train/session.h"

namespace switchyard::compare {

struct OwnArmOptions {
    std::string first;  // file for logits and gradients of the first step; empty: none
    std::string lend;   // folder for weights and batches that external arms take; empty: none
    std::int64_t cycle =
        0;  // > 0: the batches of the first steps over and over, held in memory; 0: the loader's as they come
    bool amplification = false;
    std::optional<LengthRange> lengths;  // of made-up samples
};

class OwnArm {
public:
    // Reads the data that the configuration names, or makes some up; brings the weights to where training
    // begins. `registry` and `host` outlive it. Throws train::InputError and PluginError.
    OwnArm(const config::Config& config, const resolver::Plan& plan, host::Registry& registry,
           const HostInfo& host, const OwnArmOptions& options);

    // What the first step gives, without taking it; writes the files that were asked for. Once, before `run`.
    Ready ready();
    Turn run(std::int64_t steps);

private:
    using Group = std::vector<Batch>;
    struct First {
        double loss = 0.0;
        at::Tensor logits;
        std::vector<at::Tensor> gradients;
    };

    train::Trainer make_trainer(const OwnArmOptions& options);
    Group load_group();
    Group next_group();
    First first_step(Group& group);
    Drift amplification(Group& group, const First& exact);
    void write_first(const First& first);
    void lend(const std::string& folder);

    OwnArmOptions options_;
    c10::Device device_;
    train::Session session_;
    data::SampleList samples_;
    train::Trainer trainer_;
    HostStopwatch clock_;
    std::vector<Group> kept_;
    std::size_t next_ = 0;
    std::vector<model::Executed> before_;  // calls that were made for the first step
};

// How far the file of an arm's first step is from the base's, with the root of summed squares; NaN where the
// files do not hold the same tensors. The loss is not in it.
Drift drift_between(const std::string& base, const std::string& arm);

}  // namespace switchyard::compare
