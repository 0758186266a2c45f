#include "core/kernel/base/mean_ranks.h"

#include <switchyard_test.h>

using switchyard::base::mean_ranks;

TEST_CASE("values that are the same share the mean of their ranks") {
    using Values = std::vector<double>;
    CHECK(mean_ranks(Values{}) == Values{});
    CHECK(mean_ranks(Values{7.0}) == Values{1.0});
    CHECK(mean_ranks(Values{3.0, -1.0, 2.0}) == Values{3.0, 1.0, 2.0});
    CHECK(mean_ranks(Values{5.0, 1.0, 5.0, 5.0, 0.0}) == Values{4.0, 2.0, 4.0, 4.0, 1.0});
    CHECK(mean_ranks(Values{2.0, 2.0}) == Values{1.5, 1.5});
}
