// Ranks that no launcher starts, as those of srun and of pods are: each a process whose environment says
// which one it is. Nobody ends the others where one does.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tiny_job.h"

namespace switchyard::test {

// What one of them runs, and what it is told beside its place.
struct HandStarted {
    Words words;
    int rank = 0;
    std::map<std::string, std::string> environment = {};
};

class HandStartedRanks {
public:
    // Of a training of `world_size`, in this order.
    HandStartedRanks(int world_size, const std::vector<HandStarted>& ranks);
    ~HandStartedRanks();
    HandStartedRanks(const HandStartedRanks&) = delete;
    HandStartedRanks& operator=(const HandStartedRanks&) = delete;

    Started& operator[](std::size_t index) { return *started_[index]; }
    std::vector<Outcome> wait();  // for all of them

private:
    int reserved_ = -1;  // the socket that keeps their port from others
    std::vector<std::unique_ptr<Started>> started_;
};

// That are to end with exit code 2 and one message, which rank 0 prints and has each of these parts; nothing
// is written to the run's folder.
void check_refused_together(HandStartedRanks& ranks, const Words& parts, const fs::path& run);

}  // namespace switchyard::test
