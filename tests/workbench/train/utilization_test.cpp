// Operations over time and peak, by hand.
#include "core/workbench/train/utilization.h"

#include <switchyard_test.h>

using switchyard::model::Unit;
using switchyard::model::Work;
using switchyard::train::Utilization;

TEST_CASE("utilization is operations over seconds and peak") {
    Work costs, work;
    costs[Unit::source] = 6e6;
    costs[Unit::source_pairs] = 500.0;
    costs[Unit::sequences] = 1e3;
    work[Unit::source] = 1000.0;
    work[Unit::source_pairs] = 40000.0;
    work[Unit::sequences] = 10.0;
    work[Unit::labels] = 10.0;  // which cost nothing
    const Utilization utilization{costs, {{100e9, "float32", "by hand"}}};
    const auto share = utilization.of(work, 0.25);
    REQUIRE(share);
    CHECK(*share == switchyard::test::Approx((6e9 + 2e7 + 1e4) / 0.25 / 100e9));
    CHECK_FALSE(utilization.of(work, 0.0));
    CHECK_FALSE(Utilization{std::nullopt, utilization.peak}.of(work, 0.25));
    CHECK_FALSE(Utilization{costs, std::nullopt}.of(work, 0.25));
}
