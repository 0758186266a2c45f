// The side of this program that answers the requests of a comparison: an arm that is one configuration,
// trained for as many steps as the coordinator asks for.
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

struct ArmServerOptions {
    std::string first_step_file;  // for logits and gradients of the first step; empty: none
    std::string export_folder;    // for the weights and batches that external arms load; empty: none
    // Above 0: the batches of so many first steps are kept in memory and repeated. 0: the loader's, as they
    // come.
    std::int64_t cycle = 0;
    bool amplification = false;
    std::optional<bench::LengthRange> lengths;  // of random samples
};

class ArmServer {
public:
    // Loads the data that the configuration names, or draws random samples; brings the weights to where
    // training begins. `registry` and `host` outlive it. Throws train::InputError and PluginError.
    ArmServer(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
              const HostInfo& host, const ArmServerOptions& options);

    // Computes the first step without taking it, and writes the files that the options name. Once, before
    // `run`.
    Ready prepare();
    Turn run(std::int64_t steps);

private:
    using Group = std::vector<Batch>;
    struct First {
        double loss = 0.0;
        at::Tensor logits;
        std::vector<at::Tensor> gradients;
    };

    train::Trainer make_trainer(const ArmServerOptions& options);
    Group next_group();
    First first_step(Group& group);
    Drift amplification(Group& group, const First& exact);
    void write_first_step(const First& first);
    void export_inputs();

    ArmServerOptions options_;
    c10::Device device_;
    train::Session session_;
    data::SampleList samples_;
    train::Trainer trainer_;
    bench::HostStopwatch clock_;
    std::vector<Group> kept_;
    std::size_t next_ = 0;
    std::vector<model::Executed> before_;  // calls that were made for the first step
};

// How far the file of an arm's first step is from the base's, with the root of summed squares; NaN where the
// files do not hold the same tensors. The loss is not in it.
Drift drift_between(const std::string& base, const std::string& arm);

}  // namespace switchyard::compare
