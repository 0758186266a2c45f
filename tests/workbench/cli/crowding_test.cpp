// When a training tells that it has to share the processors.
#include "core/workbench/cli/crowding.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("a training whose threads are interrupted by others is told so") {
    CHECK(cli::crowding_warning({10.0, 0.43, 2100}, 2) ==
          "warning: other programs take 43 % of the processors, and the threads of this one are interrupted "
          "210 times a second: its speed is not that of the machine; fewer threads (runtime.threads) may be "
          "as fast\n");
    CHECK(cli::crowding_warning({10.0, 0.43, 2100}, 1) ==
          "warning: other programs take 43 % of the processors, and the threads of this one are interrupted "
          "210 times a second: its speed is not that of the machine\n");
    CHECK(cli::crowding_warning({10.0, 0.25, 2100}, 2).empty());
    CHECK(cli::crowding_warning({10.0, 0.43, 100}, 2).empty());
}

TEST_CASE("other ranks of a training are no other programs") {
    const bench::ProcessorTimes from{100.0, 50.0, 10.0}, to{120.0, 50.0, 20.0};  // half of it this rank's
    const auto share = [&](std::int64_t ranks) {
        return bench::share_of_others(cli::times_of_ranks(from, ranks), cli::times_of_ranks(to, ranks));
    };
    CHECK(share(1) == test::Approx(0.5));
    CHECK(share(2) == 0.0);
    CHECK_FALSE(cli::times_of_ranks(std::nullopt, 2));
}
