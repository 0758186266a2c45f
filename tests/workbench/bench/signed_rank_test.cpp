// Wilcoxon's test against counts made by hand: of n signs there are 2^n, and those with a rank sum at most as
// small are listed.
// To add a case: differences, and the share of signs.
#include <limits>
#include <vector>

#include "core/workbench/bench/measure/signed_rank.h"

#include <switchyard_test.h>

using switchyard::bench::signed_rank_p;
using switchyard::test::Approx;

TEST_CASE("all differences to one side: two of all choices of signs are as far out") {
    CHECK(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5}) == Approx(2.0 / 32.0));
    CHECK(signed_rank_p(std::vector<double>{-1, -2, -3, -4, -5, -6}) == Approx(2.0 / 64.0));
}

TEST_CASE("a rank sum of 3 among 8: {}, {1}, {2}, {3} and {1, 2} are at most that") {
    CHECK(signed_rank_p(std::vector<double>{-1, -2, 3, 4, 5, 6, 7, 8}) == Approx(2.0 * 5.0 / 256.0));
}

TEST_CASE("ties share their rank, zeros and what is not finite are left out") {
    // Three ranks of 2; sums of at most 2: none, or one of the three.
    CHECK(signed_rank_p(std::vector<double>{1, 1, -1}) == Approx(1.0));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(signed_rank_p(std::vector<double>{0, 1, 2, nan, 3, 4, 5}) == Approx(2.0 / 32.0));
}

TEST_CASE("nothing differs: nothing to be surprised at") {
    CHECK(signed_rank_p(std::vector<double>{}) == 1.0);
    CHECK(signed_rank_p(std::vector<double>{0.0, 0.0}) == 1.0);
}

TEST_CASE("many blocks are counted out exactly too") {
    std::vector<double> differences;
    for (int i = 1; i <= 60; ++i) differences.push_back(i % 2 == 0 ? i : -i);
    // Even and odd ranks: sums 930 and 900 of 1830, near the middle.
    CHECK(signed_rank_p(differences) > 0.9);
    CHECK(signed_rank_p(differences) <= 1.0);
}
