// How much of the time in which gradients are summed up over the ranks lies behind backward, which goes on
// meanwhile: a few clock readings a step, of this rank.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace switchyard::distributed {

struct BucketSum {
    std::int64_t bytes = 0;                         // of its gradients
    double begin_seconds = 0.0, end_seconds = 0.0;  // from the beginning of backward
};

// Of a step's last backward, the one that sums go on beside.
struct BackwardTrace {
    double backward_seconds = 0.0;  // until the last gradient was made
    std::vector<BucketSum> sums;    // in the order in which they began

    // Until backward and all sums were over.
    double all_seconds() const;
};

struct Overlap {
    double seconds = 0.0;         // in which at least one sum went on, waiting for later ranks included
    double hidden_seconds = 0.0;  // of them, before the end of backward
};
Overlap overlap_of(const BackwardTrace& trace);

// Sums over the steps of this process.
struct Communication {
    std::int64_t steps = 0;
    double seconds = 0.0, hidden_seconds = 0.0, backward_seconds = 0.0;
    BackwardTrace typical;  // of the last steps, the one that took the median time

    // Of the time of communication; 1 where there was none.
    double hidden_share() const { return seconds > 0.0 ? hidden_seconds / seconds : 1.0; }
};

// The first step of a process, which makes what later ones find, counts only as long as it is the only one.
class CommunicationRecord {
public:
    void add(const BackwardTrace& trace);
    // nullopt: nothing was recorded.
    std::optional<Communication> so_far() const;

private:
    std::int64_t seen_ = 0;
    Communication all_;
    std::deque<BackwardTrace> last_;
};

}  // namespace switchyard::distributed
