// Another program beside what is measured, which takes one processor by turns. It ends with this process,
// however that ends.
#pragma once

#include <sys/types.h>

namespace switchyard::cli {

class BusyLoop {
public:
    // Stands still. Throws Failure where it cannot be started.
    BusyLoop();
    ~BusyLoop();
    BusyLoop(const BusyLoop&) = delete;
    BusyLoop& operator=(const BusyLoop&) = delete;

    void let_run(bool runs);

private:
    pid_t child_ = -1;
    bool runs_ = false;
};

}  // namespace switchyard::cli
