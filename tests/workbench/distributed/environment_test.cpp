// What a process concludes from the environment that it was started in. To add a starter: a case of its
// variables in the first test, and what it leaves out in the others.
#include <map>

#include <switchyard_test.h>
#include "core/kernel/base/input_error.h"
#include "core/workbench/distributed/environment.h"

using namespace switchyard;
using distributed::rank_environment;

namespace {

using Given = std::map<std::string, std::string>;

std::optional<distributed::RankEnvironment> in(const Given& given) {
    return rank_environment([&](const std::string& name) {
        const auto found = given.find(name);
        return found == given.end() ? std::nullopt : std::optional(found->second);
    });
}

std::string refused(const Given& given) {
    try {
        in(given);
    } catch (const base::InputError& error) {
        return error.what();
    }
    return "";
}

Given with(Given given, const Given& more) {
    for (const auto& [name, value] : more) given[name] = value;
    return given;
}

const Given torchrun{{"RANK", "3"},
                     {"WORLD_SIZE", "4"},
                     {"LOCAL_RANK", "1"},
                     {"LOCAL_WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "node1"},
                     {"MASTER_PORT", "29400"}};

}  // namespace

TEST_CASE("a process that nobody started as a rank trains alone") {
    CHECK_FALSE(in({}));
    CHECK_FALSE(in({{"WORLD_SIZE", "1"}}));
    CHECK_FALSE(in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
    CHECK_FALSE(in({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}));
    // A batch script of SLURM's is one process, whatever its job may start.
    CHECK_FALSE(in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}));
}

TEST_CASE("ranks of torchrun and of Kubernetes know their place") {
    const auto rank = in(torchrun);
    REQUIRE(rank);
    CHECK(rank->rank == 3);
    CHECK(rank->world_size == 4);
    CHECK(rank->local_rank == 1);
    CHECK(rank->local_world_size == 2);
    CHECK(rank->address == "node1");
    CHECK(rank->port == 29400);
    CHECK_FALSE(rank->has_server);
    CHECK(rank->listening == -1);

    const auto agent =
        in(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}));
    CHECK(agent->has_server);
    CHECK(agent->attempt == 2);

    const auto pod =
        in({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}});
    CHECK(pod->local_rank == 0);
    CHECK(pod->local_world_size == 1);
    CHECK(pod->address == "job-master-0");
}

TEST_CASE("ranks of Open MPI on one machine need no address") {
    const Given given{{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"PMIX_NAMESPACE", "1836515329"}};
    const auto rank = in(given);
    CHECK(rank->rank == 1);
    CHECK(rank->local_rank == 1);
    CHECK(rank->address == "127.0.0.1");
    CHECK(rank->port >= 20000);
    CHECK(rank->port < 30000);
    CHECK(in(with(given, {{"OMPI_COMM_WORLD_RANK", "0"}}))->port == rank->port);
    CHECK(in(with(given, {{"PMIX_NAMESPACE", "1836515330"}}))->port != rank->port);
    CHECK(in(with(given, {{"MASTER_PORT", "4000"}}))->port == 4000);
    CHECK_THAT(refused(with(given, {{"OMPI_COMM_WORLD_SIZE", "4"}})),
               test::contains("MASTER_ADDR is missing in the environment, which has OMPI_COMM_WORLD_SIZE"));
}

TEST_CASE("ranks of SLURM meet on the first host of their step, and those of another step elsewhere") {
    const Given given{{"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "8"},
                      {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "1234"},
                      {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "gpu[017-018,020]"}};
    const auto rank = in(given);
    CHECK(rank->rank == 5);
    CHECK(rank->local_rank == 1);
    CHECK(rank->address == "gpu017");
    CHECK(in(with(given, {{"SLURM_PROCID", "0"}}))->port == rank->port);
    CHECK(in(with(given, {{"SLURM_JOB_ID", "1235"}}))->port != rank->port);
    CHECK(in(with(given, {{"SLURM_STEP_ID", "1"}}))->port != rank->port);
    CHECK(in(with(given, {{"SLURM_JOB_ID", "123"}, {"SLURM_STEP_ID", "40"}}))->port != rank->port);
    using distributed::first_host;
    CHECK(first_host("one") == "one");
    CHECK(first_host("one,two") == "one");
    CHECK(first_host("a,n[1-2]") == "a");
    CHECK(first_host("n[07]") == "n07");
    CHECK(first_host("rack1-n[003,9]-ib,other[1-2]") == "rack1-n003-ib");
    CHECK(first_host("n[") == "n");
}

TEST_CASE("torchrun's variables go before those of the job that it runs in") {
    CHECK(in(with(torchrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}))->rank == 3);
}

TEST_CASE("a variable that is missing or foreign is named") {
    const auto without = [](const std::string& name) {
        auto given = torchrun;
        given.erase(name);
        return given;
    };
    CHECK(
        refused(without("RANK")) ==
        "error: RANK is missing in the environment, which has WORLD_SIZE: expected the number of this rank, "
        "from 0");
    CHECK(refused(without("WORLD_SIZE")) ==
          "error: WORLD_SIZE is missing in the environment, which has RANK: expected the number of ranks");
    CHECK_THAT(refused(without("MASTER_ADDR")), test::contains("MASTER_ADDR is missing"));
    CHECK_THAT(refused(without("MASTER_PORT")), test::contains("MASTER_PORT is missing"));
    CHECK(refused(with(torchrun, {{"RANK", "first"}})) ==
          "error: RANK in the environment: expected a whole number from 0 to 2147483647, got first; unset it "
          "where this process trains alone");
    CHECK_THAT(refused(with(torchrun, {{"RANK", "-1"}})), test::contains("RANK in the environment"));
    CHECK_THAT(refused(with(torchrun, {{"WORLD_SIZE", "4x"}})), test::contains("got 4x"));
    CHECK_THAT(refused(with(torchrun, {{"WORLD_SIZE", "0"}})), test::contains("from 1"));
    CHECK_THAT(refused(with(torchrun, {{"MASTER_PORT", "70000"}})), test::contains("to 65535, got 70000"));
    CHECK(refused(with(torchrun, {{"RANK", "4"}})) ==
          "error: RANK in the environment: got 4, but WORLD_SIZE is 4: ranks are numbered from 0");
    CHECK_THAT(refused({{"RANK", "a\x1b[2J"}, {"WORLD_SIZE", "2"}}), !test::contains("\x1b"));
}

TEST_CASE("what all ranks of a machine were told wrongly the first of them says") {
    const auto says = [](Given given, const std::string& without) {
        given.erase(without);
        try {
            in(given);
        } catch (const distributed::ToldByAnother&) {
            return false;
        } catch (const base::InputError&) {
            return true;
        }
        FAIL("it was taken");
        return true;
    };
    for (const std::string name : {"MASTER_ADDR", "MASTER_PORT"}) {
        INFO(name);
        CHECK(says(with(torchrun, {{"RANK", "0"}, {"LOCAL_RANK", "0"}}), name));
        CHECK_FALSE(says(torchrun, name));
        // The first on another machine, and one of whom nobody says where it is.
        CHECK(says(with(torchrun, {{"RANK", "2"}, {"LOCAL_RANK", "0"}}), name));
        CHECK(says({{"RANK", "1"}, {"WORLD_SIZE", "2"}}, name));
    }
    CHECK_FALSE(says(with(torchrun, {{"MASTER_PORT", "no"}}), ""));
    CHECK(says(with(torchrun, {{"RANK", "7"}}), ""));  // its own affair
}
