#include "core/workbench/distributed/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"

namespace switchyard::distributed {
namespace {

// Who starts ranks, and what it calls what they have to know; empty: it does not say.
struct Starter {
    const char* name;
    const char* rank;
    const char* size;
    const char* local_rank;
    const char* local_size;
    const char* job;    // tells apart jobs of one machine, whose ports must differ
    const char* step;   // likewise, what runs at once in a job
    const char* hosts;  // a list, the one of rank 0 first
};
constexpr std::array<Starter, 4> starters{
    {{"torchrun or `switchyard launch`", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "", "", ""},
     {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "", ""},
     {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_JOB_ID", "SLURM_STEP_ID",
      "SLURM_STEP_NODELIST"},
     {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID", "", ""}}};

constexpr std::int64_t most_ranks = 1 << 20;
constexpr std::int64_t usual_port = 29500;  // PyTorch's

class Reader {
public:
    explicit Reader(const Variables& variable) : variable_(variable) {}

    std::optional<std::string> text(const std::string& name) const {
        if (name.empty()) return std::nullopt;
        auto found = variable_(name);
        if (found && found->empty()) found.reset();
        return found;
    }

    std::optional<std::int64_t> number(const std::string& name, std::int64_t least, std::int64_t most) const {
        const auto word = text(name);
        if (!word) return std::nullopt;
        std::int64_t value = 0;
        const auto* const end = word->data() + word->size();
        const auto [stopped, error] = std::from_chars(word->data(), end, value);
        if (error != std::errc() || stopped != end || value < least || value > most) {
            throw base::InputError("error: " + name + " in the environment: expected a whole number from " +
                                   std::to_string(least) + " to " + std::to_string(most) + ", got " +
                                   base::quoted(*word) + "; unset it where this process trains alone");
        }
        return value;
    }

private:
    const Variables& variable_;
};

[[noreturn]] void missing(const std::string& name, const std::string& known, const std::string& what) {
    throw base::InputError("error: " + name + " is missing in the environment, which has " + known +
                           ": expected " + what);
}

// srun's variables are there in a batch script too, which is one process.
const Starter* starter_of(const Reader& read) {
    for (const auto& starter : starters) {
        if (read.text(starter.size)) return &starter;
        if (std::string_view(starter.rank) == "RANK" && read.text(starter.rank))
            missing(starter.size, starter.rank, "the number of ranks");
    }
    return nullptr;
}

// Jobs of one machine shall not meet; whoever starts them has no port to give.
std::int64_t port_of(const std::string& job) {
    std::uint32_t hash = 2166136261U;  // FNV-1a
    for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    return job.empty() ? usual_port : 20000 + static_cast<std::int64_t>(hash % 10000);
}

std::string address_of(const Reader& read, const Starter& starter, const RankEnvironment& made) {
    if (const auto given = read.text("MASTER_ADDR")) return *given;
    if (const auto hosts = read.text(starter.hosts)) return first_host(*hosts);
    if (made.local_world_size == made.world_size) return "127.0.0.1";
    missing("MASTER_ADDR", starter.size, "the name or address of the host of rank 0");
}

std::int64_t given_port(const Reader& read, const Starter& starter) {
    if (const auto given = read.number("MASTER_PORT", 1, 65535)) return *given;
    if (*starter.job == '\0') missing("MASTER_PORT", starter.size, "a free port of the host of rank 0");
    auto job = read.text(starter.job).value_or("");
    if (const auto step = read.text(starter.step)) job += "." + *step;
    return port_of(job);
}

}  // namespace

std::optional<std::string> variable_of_process(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string first_host(const std::string& list) {
    const auto bracket = list.find('[');
    const auto comma = list.find(',');
    if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
    const auto number = list.substr(bracket + 1, list.find_first_of("-,]", bracket) - bracket - 1);
    const auto closing = std::min(list.find(']', bracket), list.size() - 1);
    const auto rest = list.substr(closing + 1);
    return list.substr(0, bracket) + number + rest.substr(0, rest.find_first_of(",["));
}

std::optional<RankEnvironment> rank_environment(const Variables& variable) {
    const Reader read(variable);
    const auto* const starter = starter_of(read);
    if (starter == nullptr) return std::nullopt;
    RankEnvironment made;
    made.world_size = *read.number(starter->size, 1, most_ranks);
    if (made.world_size == 1) return std::nullopt;
    const auto rank = read.number(starter->rank, 0, std::numeric_limits<std::int32_t>::max());
    if (!rank) missing(starter->rank, starter->size, "the number of this rank, from 0");
    made.rank = *rank;
    if (made.rank >= made.world_size) {
        throw base::InputError("error: " + std::string(starter->rank) + " in the environment: got " +
                               std::to_string(made.rank) + ", but " + starter->size + " is " +
                               std::to_string(made.world_size) + ": ranks are numbered from 0");
    }
    made.local_rank = read.number(starter->local_rank, 0, most_ranks).value_or(0);
    made.local_world_size = read.number(starter->local_size, 1, most_ranks).value_or(1);
    try {
        made.address = address_of(read, *starter, made);
        made.port = given_port(read, *starter);
    } catch (const base::InputError& error) {
        if (made.rank > 0 && made.local_rank > 0) throw ToldByAnother(error.what());
        throw;
    }
    const auto agent = read.text("TORCHELASTIC_USE_AGENT_STORE");
    made.has_server = agent == "True" || agent == "1";
    made.attempt = read.number(attempt_variable, 0, most_ranks).value_or(0);
    made.listening = static_cast<int>(
        read.number(listening_variable, 0, std::numeric_limits<std::int32_t>::max()).value_or(-1));
    return made;
}

}  // namespace switchyard::distributed
