// The progress line, as it is seen.
#include "core/workbench/train/progress.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("a progress line has bar, rate, loss and time left") {
    CHECK(train::progress_line({"train", 120, 2400, 58.24, 0.4312, 192.0}, 100) ==
          "train    120/2400 [=>                            ]  58.2 samples/s  loss 0.4312  left 3:12");
    CHECK(train::progress_line({"evaluate", 4, 4, 0.0, -1.0, 0.0}, 100) ==
          "evaluate 4/4 [==============================]");
    CHECK(train::progress_line({"train", 1, 2, 1.0, 1.0, 3725.0}, 60) ==
          "train    1/2  1.0 samples/s  loss 1.0000  left 1:02:05");
    CHECK(train::progress_line({"train", 1, 2, 1.0, 1.0, 1.0}, 20).size() == 20);
}

TEST_CASE("where the total is not known the line has a bar of the share, or none") {
    CHECK(train::progress_line({"predict", 120, -1, 58.24, -1.0, 192.0, "", 0.5}, 100) ==
          "predict  120 [===============>              ]  58.2 samples/s  left 3:12");
    CHECK(train::progress_line({"predict", 120, -1, 58.24, -1.0, 192.0}, 100) ==
          "predict  120  58.2 samples/s");
}
