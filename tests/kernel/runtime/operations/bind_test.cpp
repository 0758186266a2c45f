// From a row of the plan to an operation: what is told where that is not possible. (That it is possible, the
// tests of the plugins show.)
#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/operations/attention_op.h"
#include "core/kernel/runtime/operations/bind.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("a row without a component, or with one that is gone, cannot be bound") {
    runtime::Registry registry({});
    const HostInfo host;
    resolver::PlanRow row;
    row.use.slot = "attention.cross";
    row.use.layers = "decoder.0-5";
    CHECK_THROWS_WITH(
        runtime::bind<runtime::AttentionOp>(row, registry, host),
        Catch::Matchers::Equals("attention.cross for decoder.0-5: the plan chose no component"));
    row.chosen.emplace();
    row.chosen->plugin = "flash";
    row.chosen->component = "flash";
    row.chosen->library_path = "/opt/plugins/libflash.so";
    CHECK_THROWS_WITH(
        runtime::bind<runtime::AttentionOp>(row, registry, host),
        Catch::Matchers::Equals("attention.cross: plugin 'flash', component 'flash' cannot be loaded from "
                                "/opt/plugins/libflash.so: it is not there any more"));
}
