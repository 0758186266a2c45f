// The side of this program that answers the requests of a comparison: an arm that is one configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/config.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/measure/stopwatch.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/compare/arms/workload.h"
#include "core/workbench/train/session.h"

namespace switchyard::compare {

struct ArmServerOptions {
    Operation operation = Operation::step;
    std::string first_step_file;  // for what it computes first (first_step_file.h); empty: none
    std::string export_folder;    // for the weights and batches that external arms load; empty: none
    bool export_weights = true;   // beside the batches
    // Operation::step: above 0: the batches of so many first steps are kept in memory and repeated. 0: the
    // loader's, as they come.
    std::int64_t cycle = 0;
    // epoch, forward, data: of a pass, drawn from the job's; fewer where it has fewer. generate: whether
    // prompts are the job's, in batches of batch.size; 0: random tokens, all at once.
    std::int64_t samples = 0;
    // Operation::step: evaluates as many held-out samples of the job at most when it is asked to; 0: none.
    std::int64_t eval_samples = 0;
    bool amplification = false;
    double slowed = 0.0;                        // share of a step by which each is made to take longer
    distributed::Group* group = nullptr;        // of the ranks that share each step; outlives the arm
    std::optional<bench::LengthRange> lengths;  // of random samples
    // Inference alone: what it is timed on (inference_arm.h). Empty: not that.
    std::vector<Workload> workloads;
    bool cached = true;  // of Operation::generate: earlier tokens are kept, not computed again

    bool inference() const { return !workloads.empty(); }
};

class ArmServer {
public:
    virtual ~ArmServer() = default;
    // Computes what comes first without changing anything, and writes the files that the options name. Once,
    // before `run`.
    Ready prepare();
    // So many steps, or passes.
    Turn run(std::int64_t steps);
    // Which of the workloads passes are over from now on.
    virtual void choose(std::size_t workload);
    // So many passes of Operation::generate.
    virtual Generation generate(std::int64_t passes);
    // Whether it can observe a step.
    virtual bool observes() const { return false; }
    // One more step as any other, of which it tells what its memory is for.
    virtual profile::ObservedStep observe();
    // Why it cannot evaluate held-out samples; "": it can.
    virtual std::string not_evaluated() const { return "it does not train"; }
    // Held-out samples of the job, with the weights as they are.
    virtual Evaluation evaluate();

protected:
    using Group = std::vector<Batch>;
    struct First {
        double loss = 0.0;
        at::Tensor logits;                  // of the rows with a label
        at::Tensor further;                 // of the tokens after these; undefined: there are none
        std::vector<at::Tensor> gradients;  // of all parameters in their order; empty: there are none
    };

    ArmServer(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
              const HostInfo& host, const ArmServerOptions& options);

    // What external arms work on: the batches of each step, or of the one pass.
    virtual std::vector<Group> shared_batches() = 0;
    // And what they evaluate; none: they do not.
    virtual Group evaluation_batches() { return {}; }
    virtual First first() = 0;
    // Adds what one step or pass took and gave, but for its time.
    virtual void run_one(Turn& turn) = 0;
    // That are kept for sequences, and are none of the weights'.
    virtual std::int64_t row_bytes() const { return 0; }

    // Calls `work`, and fills in what it took but for its times.
    template <class Report>
    void measure(Report& report, const std::function<void()>& work);

    ArmServerOptions options_;
    train::Session session_;
    c10::Device device_;
    bench::HostStopwatch clock_;

private:
    void export_inputs(const model::Parameters& parameters);
    nlohmann::ordered_json executed_since_before();
    Drift amplification(const First& exact);

    bool reduced_ = false;                 // some component that was chosen is of reduced accuracy
    std::vector<model::Executed> before_;  // calls that were made before the first turn
    std::int64_t turns_ = 0;
};

// Loads the data that the configuration names, or draws random samples; brings the weights to where training
// begins. `registry` and `host` outlive it. Throws train::InputError and PluginError.
std::unique_ptr<ArmServer> make_arm_server(const config::Config& config, const resolver::Plan& plan,
                                           runtime::Registry& registry, const HostInfo& host,
                                           const ArmServerOptions& options);

}  // namespace switchyard::compare
