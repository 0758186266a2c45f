#include "short_training.h"

#include <mutex>
#include <stdexcept>

#include <ATen/Parallel.h>

#include "core/kernel/config/load.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/model/planning.h"

#include "built_plugins.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

const HostInfo& this_host() {
    static const HostInfo info = host_of(1);
    return info;
}

runtime::Registry& registry() {
    static runtime::Registry found([] {
        at::set_num_threads(1);  // where other programs run, two would wait for each other
        return built_plugins(
            {"amp", "batching", "chunked", "flash", "fp8", "fused", "gemm", "naive", "optim8bit", "torch"},
            this_host());
    }());
    return found;
}

}  // namespace

config::Config configured(const std::vector<std::string>& overrides) {
    config::LoadRequest request;
    request.overrides = overrides;
    request.preset_dirs = {(source_dir() / "configs/presets").string()};
    const auto result = config::load(request);
    if (!result.config) throw std::runtime_error(config::render(result.problems));
    return *result.config;
}

namespace {

config::Config with_part(config::Config config, distributed::Group* group) {
    if (group == nullptr) return config;
    config.distributed.part = distributed::layer_part(config.mesh, group->place());
    config.distributed.stage = distributed::layer_stage(config.mesh, group->place());
    return config;
}

// Ranks are threads here, and planning reads what loading writes: one after the other.
resolver::Plan planned(const config::Config& config) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    return model::make_plan(config, registry(), this_host());
}

}  // namespace

ShortTraining::ShortTraining(const std::vector<std::string>& overrides, const SampleSource& samples,
                             distributed::Group* group)
    : config(with_part(configured(overrides), group)),
      plan(planned(config)),
      session(config, plan, registry(), this_host()),
      trainer(make_trainer(samples, group)) {}

train::Trainer ShortTraining::make_trainer(const SampleSource& samples, distributed::Group* group) {
    if (group != nullptr) session.share_with(*group);
    return session.make_trainer(lent(samples));
}

}  // namespace switchyard::test
