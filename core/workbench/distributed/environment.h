// Which rank of a distributed training this process is, as whoever started it says in the environment:
//
//     `switchyard launch`, torchrun, Kubernetes' PyTorchJob   RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
//                                                             MASTER_ADDR MASTER_PORT
//     mpirun (Open MPI)   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//     mpirun (MPICH, Intel MPI)   PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS
//     srun   SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_LOCALID, SLURM_STEP_NODELIST for the first host,
//            SLURM_JOB_ID and SLURM_STEP_ID for a port of their own
//
// The first of these that says anything is taken. MASTER_ADDR and MASTER_PORT go before what the others
// leave to be concluded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/kernel/base/input_error.h"

namespace switchyard::distributed {

struct RankEnvironment {
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
    std::int64_t local_rank = 0;  // on this machine
    std::int64_t local_world_size = 1;
    std::string address;       // of the host that rank 0 runs on
    std::int64_t port = 0;     // there
    bool has_server = false;   // torchrun serves the store itself; else rank 0 does
    std::int64_t attempt = 0;  // how often torchrun, or `launch --restarts`, began all of them anew
    int listening = -1;        // rank 0 of `switchyard launch`: the socket of that port; -1: none
};

using Variables = std::function<std::optional<std::string>(const std::string& name)>;
// Of this process.
std::optional<std::string> variable_of_process(const std::string& name);

// Where ranks meet is not said, or wrongly; the first rank on this machine, which was told the same, says so.
struct ToldByAnother : base::InputError {
    using InputError::InputError;
};

// nullopt: this process trains alone. Throws base::InputError naming the variable that is missing or is none
// of these programs'.
std::optional<RankEnvironment> rank_environment(const Variables& variable = variable_of_process);

// The first of a list of hosts in SLURM's form, "node[003-007,12],other" -> "node003".
std::string first_host(const std::string& list);

// What `switchyard launch` tells rank 0 beside the usual variables.
inline constexpr const char* listening_variable = "SWITCHYARD_RANK_0_SOCKET";
inline constexpr const char* attempt_variable = "TORCHELASTIC_RESTART_COUNT";

}  // namespace switchyard::distributed
