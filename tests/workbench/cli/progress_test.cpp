// The progress line, as it is seen.
#include "core/workbench/cli/progress.h"

#include <iostream>
#include <sstream>

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("a progress line has bar, rate, loss and time left") {
    CHECK(cli::progress_line({"train", 120, 2400, 58.24, 0.4312, 192.0}, 100) ==
          "train    120/2400 [=>                            ]  58.2 samples/s  loss 0.4312  left 3:12");
    CHECK(cli::progress_line({"evaluate", 4, 4, 0.0, -1.0, 0.0}, 100) ==
          "evaluate 4/4 [==============================]");
    CHECK(cli::progress_line({"train", 1, 2, 1.0, 1.0, 3725.0}, 60) ==
          "train    1/2  1.0 samples/s  loss 1.0000  left 1:02:05");
    CHECK(cli::progress_line({"train", 1, 2, 1.0, 1.0, 1.0}, 20).size() == 20);
}

TEST_CASE("where the total is not known the line has a bar of the share, or none") {
    CHECK(cli::progress_line({"predict", 120, -1, 58.24, -1.0, 192.0, "", 0.5}, 100) ==
          "predict  120 [===============>              ]  58.2 samples/s  left 3:12");
    CHECK(cli::progress_line({"predict", 120, -1, 58.24, -1.0, 192.0}, 100) ==
          "predict  120  58.2 samples/s");
}

TEST_CASE("what is not counted has a bar alone, and the time left where that is known") {
    cli::ProgressState state{"block 3 of 12", -1, -1, 0.0, -1.0, 42.0};
    CHECK(cli::progress_line(state, 100) == "block 3 of 12");
    state.share = 0.25;
    CHECK(cli::progress_line(state, 100) == "block 3 of 12 [=======>                      ]  left 0:42");
    state.seconds_left = 0.0;
    CHECK(cli::progress_line(state, 30) == "block 3 of 12 [===>          ]");
}

TEST_CASE("a plain line comes at once and then every half minute; what may be over soon begins without one") {
    std::ostringstream printed;
    auto* const before = std::cerr.rdbuf(printed.rdbuf());
    {
        cli::Progress at_once(false, 100);
        at_once.show({"train", 1, 3, 0.0, -1.0, 0.0});
        at_once.show({"train", 2, 3, 0.0, -1.0, 0.0});
        at_once.show({"train", 3, 3, 0.0, -1.0, 0.0});
        cli::Progress later(false, 100, cli::Progress::Begin::later);
        later.show({"read", 1, 3, 0.0, -1.0, 0.0});
        later.show({"read", 3, 3, 0.0, -1.0, 0.0});
    }
    std::cerr.rdbuf(before);
    CHECK(printed.str() ==
          "train    1/3 [==========>                   ]\n"
          "train    3/3 [==============================]\n");
}
