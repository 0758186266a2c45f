#include "core/workbench/cli/train/train_ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <utility>

#include "core/kernel/base/json_text.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/program.h"
#include "core/workbench/cli/program_version.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/distributed/c10d.h"
#include "core/workbench/distributed/nccl_library.h"
#include "core/workbench/distributed/signs_of_life.h"
#include "core/workbench/distributed/together.h"
#include "core/workbench/train/data_parallel.h"

namespace switchyard::cli {
namespace {

using distributed::RankEnvironment;

// Seconds in which ranks that end hear of each other.
constexpr double most_last_words_seconds = 5.0;

// What the first rank prints, the others would print again.
class Silence {
public:
    explicit Silence(bool silent) {
        if (!silent) return;
        out_ = std::cout.rdbuf(&nothing_);
        error_ = std::cerr.rdbuf(&nothing_);
    }
    ~Silence() {
        if (out_ != nullptr) std::cout.rdbuf(out_);
        if (error_ != nullptr) std::cerr.rdbuf(error_);
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

private:
    struct Nothing : std::streambuf {
        int overflow(int letter) override { return letter == traits_type::eof() ? 0 : letter; }
        std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
    };
    Nothing nothing_;
    std::streambuf* out_ = nullptr;
    std::streambuf* error_ = nullptr;
};

// The one of this machine's devices that this rank computes on becomes the only one that it sees: before
// anything has asked for them.
void take_device(const RankEnvironment& environment) {
    const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
    std::vector<std::string> devices;
    std::string rest = seen == nullptr ? "" : seen;
    while (!rest.empty()) {
        const auto comma = std::min(rest.find(','), rest.size());
        devices.push_back(rest.substr(0, comma));
        rest.erase(0, comma + 1);
    }
    if (devices.size() == 1) return;  // whoever started it chose one
    const auto own = static_cast<std::size_t>(environment.local_rank);
    const auto name = own < devices.size() ? devices[own] : std::to_string(own);
    ::setenv("CUDA_VISIBLE_DEVICES", name.c_str(), 1);
}

config::Collectives backend_of(const config::Config& config) {
    return config.distributed.backend.value_or(config.run.device == Device::cuda ? config::Collectives::nccl
                                                                                 : config::Collectives::gloo);
}

distributed::LastWords last_words(const std::exception_ptr& thrown) {
    const auto lost = [](const std::exception& error) {
        return distributed::LastWords{error.what(), Exit::run_failed, true};
    };
    try {
        std::rethrow_exception(thrown);
    } catch (const distributed::RankLost& error) {
        return lost(error);
    } catch (const distributed::StoreGone& error) {
        return lost(error);
    } catch (...) {
    }
    auto told = command_error(thrown);
    while (told.text.ends_with('\n')) told.text.pop_back();
    return {told.text, told.code, false};
}

// Threads that still wait for other ranks are not waited for.
[[noreturn]] void end_process(distributed::Store& store, const distributed::Place& place, double timeout) {
    const auto ending = distributed::end_together(store, place, last_words(std::current_exception()),
                                                  std::min(timeout, most_last_words_seconds));
    std::cout.flush();
    if (!ending.text.empty()) std::cerr << (ending.text + "\n");
    std::cerr.flush();
    std::_Exit(ending.code);
}

}  // namespace

std::string TrainRanks::from_first(const std::string& what, const std::string& said) {
    return distributed::meet(group_->store(), group_->place(), what, is_first() ? said : "",
                             train::long_wait_seconds)
        .front();
}

void TrainRanks::check_alike(std::optional<train::RankFacts> facts) {
    if (facts) facts->program = version_text();
    const auto all = distributed::meet(group_->store(), group_->place(), "facts " + std::to_string(++checks_),
                                       facts ? train::to_json(*facts).dump() : "", train::long_wait_seconds);
    const auto facts_of = [&](const std::string& word) {
        return train::rank_facts_from(base::parse_json(word).value);
    };
    std::string problems;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        if (all[rank] == all[0] || all[rank].empty() || all[0].empty()) continue;
        problems +=
            train::differences(facts_of(all[0]), facts_of(all[rank]), static_cast<std::int64_t>(rank));
    }
    if (!problems.empty()) throw Failure(problems + "all ranks need the same program, job and data");
}

void TrainRanks::leave() {
    auto& store = group_->store();
    const auto place = group_->place();
    distributed::meet(store, place, "leaving", "", train::long_wait_seconds);
    if (!is_first()) return store.set("left/" + std::to_string(place.rank), "");
    std::vector<std::string> others;
    for (std::int64_t rank = 1; rank < place.world_size; ++rank)
        others.push_back("left/" + std::to_string(rank));
    store.wait(others, most_last_words_seconds);
}

std::int64_t ranks_on_this_machine() {
    const auto environment = distributed::rank_environment();
    return environment ? environment->local_world_size : 1;
}

int as_rank(const JobOptions& job, const std::function<int(TrainRanks*)>& train) {
    std::optional<RankEnvironment> environment;
    try {
        environment = distributed::rank_environment();
    } catch (const distributed::ToldByAnother&) {
        return Exit::bad_input;
    }
    if (!environment) return train(nullptr);
    const auto looked = first_look(job);  // its mistakes are told below
    const auto config = looked.value_or(config::Config());
    begin_anew_to_spin(config.runtime);
    if (environment->listening >= 0) ::fcntl(environment->listening, F_SETFD, FD_CLOEXEC);
    if (config.run.device == Device::cuda) take_device(*environment);
    if (backend_of(config) == config::Collectives::nccl)
        distributed::name_nccl_interface(config.distributed.interface);
    const double timeout = config.distributed.timeout;
    const auto store = distributed::connect_store(*environment, timeout);
    const distributed::Place place{environment->rank, environment->world_size};
    // They outlive what is thrown: their threads may be waiting.
    std::unique_ptr<TrainRanks> ranks;
    std::unique_ptr<distributed::Heartbeat> heartbeat;
    try {
        heartbeat = std::make_unique<distributed::Heartbeat>(
            distributed::connect_beside(*environment, timeout), place, timeout);
        ranks = std::make_unique<TrainRanks>(
            distributed::join_group(store, *environment, backend_of(config), config.distributed));
        // Before ranks that were told different things wait for each other in different places.
        ranks->check_alike(looked ? std::optional(train::facts_at_start(*looked)) : std::nullopt);
        int code = Exit::fine;
        {
            const Silence silence(!ranks->is_first());
            code = train(ranks.get());
        }
        ranks->leave();
        return code;
    } catch (...) {
        end_process(*store, place, timeout);
    }
}

}  // namespace switchyard::cli
