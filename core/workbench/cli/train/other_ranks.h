// The other ranks of an arm whose steps several processes share. They are this program with the command `arm`
// as well, in the process group of the first one, which hands on to them what it is asked for; so they do
// what it does, and sleep and die with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/kernel/base/json_text.h"
#include "core/kernel/config/config.h"
#include "core/workbench/distributed/group.h"
#include "core/workbench/distributed/local_ranks.h"

namespace switchyard::cli {

class OtherRanks {
public:
    // Starts them, each on its part of the processors, and keeps this thread on the first part. Throws
    // Failure.
    explicit OtherRanks(std::int64_t ranks);
    // They end, since nothing is asked of them any more.
    ~OtherRanks();
    OtherRanks(const OtherRanks&) = delete;
    OtherRanks& operator=(const OtherRanks&) = delete;

    std::int64_t ranks() const { return static_cast<std::int64_t>(others_.size()) + 1; }
    // The message with the rank of each; where the ranks meet, for a first one.
    void tell(const base::Json& message, int port);
    // Waits for the answers of all; throws Failure with the error of the first that has one, or is gone.
    void hear();
    // Like hear, where this rank failed: what another one says of it within a few seconds, or "".
    std::string said_meanwhile();

private:
    struct Other {
        pid_t process = -1;
        distributed::Descriptor input, output;
        std::string read;  // of its output, not yet taken
    };
    // A line; "" where it is gone, or silent for that long; below 0: for ever.
    static std::string line_of(Other& other, int milliseconds);

    std::vector<Other> others_;
};

// Comes together with the others. `listening`: the socket of the first rank; -1: of the others.
std::unique_ptr<distributed::Group> join_arm(std::int64_t rank, std::int64_t ranks, int port, int listening,
                                             const config::Config& config);

}  // namespace switchyard::cli
