#include "core/workbench/distributed/c10d.h"

#include <net/if.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/workbench/distributed/c10d_store.h"
#include "core/workbench/distributed/nccl_library.h"

namespace switchyard::distributed {
namespace {

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr std::size_t first_bucket_bytes = mebibyte;  // so that the first sum begins early

// When sums begin and end, the latter on threads of the process group.
class SumTimes {
public:
    void begin() {
        const std::lock_guard<std::mutex> lock(mutex_);
        trace_ = {};
        start_ = Clock::now();
    }
    // Buckets begin one after the other, the last one when backward has made its last gradient.
    std::size_t sum_begins(std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const double now = seconds();
        trace_.backward_seconds = now;
        trace_.sums.push_back({static_cast<std::int64_t>(bytes), now, now});
        return trace_.sums.size() - 1;
    }
    void sum_ends(std::size_t number) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (number < trace_.sums.size()) trace_.sums[number].end_seconds = seconds();
    }
    BackwardTrace trace() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return trace_;
    }

private:
    using Clock = std::chrono::steady_clock;
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    mutable std::mutex mutex_;
    Clock::time_point start_;
    BackwardTrace trace_;
};

// What a sum of a bucket over the ranks is: c10d's own hooks make means.
class SumBucket final : public c10d::CommHookInterface {
public:
    SumBucket(c10::intrusive_ptr<c10d::ProcessGroup> group, bool as_bfloat16)
        : group_(std::move(group)), as_bfloat16_(as_bfloat16) {}

    c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
        const auto gradients = bucket.getBuffer();
        const bool rounds = as_bfloat16_ && gradients.element_size() > 2;
        const auto number = times_->sum_begins(gradients.nbytes());
        std::vector<at::Tensor> sent{rounds ? gradients.to(at::kBFloat16) : gradients};
        auto sum = group_->allreduce(sent)->getFuture();
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            sums_.push_back(sum);
        }
        // Whoever waits for the future that `then` gives also finds the end of the sum written down.
        return sum->then(
            [gradients, rounds, number, times = times_](c10::ivalue::Future& done) {
                const auto summed = c10d::detail::parseCppCommHookResult(done.value());
                if (rounds) gradients.copy_(summed);
                times->sum_ends(number);
                return c10::IValue(rounds ? gradients : summed);
            },
            c10::TensorType::get());
    }
    at::Tensor parseHookResult(const c10::IValue& result) override {
        return c10d::detail::parseCppCommHookResult(result);
    }

    void begin() {
        times_->begin();
        const std::lock_guard<std::mutex> lock(mutex_);
        sums_.clear();
    }
    BackwardTrace trace() const { return times_->trace(); }
    bool failed() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::ranges::any_of(sums_, [](const auto& sum) { return sum->hasError(); });
    }

private:
    c10::intrusive_ptr<c10d::ProcessGroup> group_;
    bool as_bfloat16_;
    std::shared_ptr<SumTimes> times_ =
        std::make_shared<SumTimes>();  // outlived by sums of a rank that failed
    mutable std::mutex mutex_;
    std::vector<c10::intrusive_ptr<c10::ivalue::Future>> sums_;  // of this step
};

// Buckets stay as they are made here: made anew by the order in which gradients were seen to come, as PyTorch
// does after the first step, they would be others after a resumption, and sums of three ranks round elsewhere
// then.
class ReducerSum final : public GradientSum {
public:
    ReducerSum(std::vector<SummedParameter> parameters, c10::intrusive_ptr<c10d::ProcessGroup> group,
               const SumOptions& options)
        : parameters_(std::move(parameters)) {
        std::vector<at::Tensor> values, reversed;
        std::vector<std::int64_t> places;
        std::unordered_map<std::size_t, std::string> names;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            values.push_back(parameters_[i].value);
            names[i] = parameters_[i].name;
            reversed.push_back(parameters_[parameters_.size() - 1 - i].value);
            places.push_back(static_cast<std::int64_t>(parameters_.size() - 1 - i));
        }
        const auto most = std::max<std::size_t>(1, static_cast<std::size_t>(options.bucket_mb * mebibyte));
        const std::vector<bool> sparse(values.size(), false);
        const auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
            reversed, {std::min(first_bucket_bytes, most), most}, sparse, places);
        auto hook = std::make_unique<SumBucket>(group, options.as_bfloat16);
        hook_ = hook.get();
        reducer_.emplace(std::move(values), buckets, std::move(group), sparse,
                         static_cast<std::int64_t>(most), false, true, std::move(names),
                         static_cast<std::int64_t>(first_bucket_bytes), false, false,
                         std::vector<std::int64_t>{});
        reducer_->register_comm_hook(std::move(hook));
    }
    ~ReducerSum() noexcept override { reducer_->remove_autograd_hooks(); }

    void begin() override {
        reducer_->prepare_for_forward();
        reducer_->prepare_for_backward({});
        hook_->begin();
    }
    void end() override {
        std::vector<std::string> without;
        for (const auto& parameter : parameters_)
            if (!parameter.value.grad().defined()) without.push_back(parameter.name);
        if (!without.empty()) throw std::runtime_error(without_gradient(without));
        reducer_->check_finalized();
    }
    bool failed() const override { return hook_->failed(); }
    std::optional<BackwardTrace> trace() const override {
        if (parameters_.empty() || !parameters_.front().value.is_cpu()) return std::nullopt;
        return hook_->trace();
    }

private:
    std::vector<SummedParameter> parameters_;
    SumBucket* hook_ = nullptr;
    std::optional<c10d::Reducer> reducer_;
};

template <class Operation>
void together(const Operation& operation) {
    try {
        operation();
    } catch (const std::exception& error) {
        throw RankLost(first_line(error));
    }
}

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

class C10dTransfer final : public Transfer {
public:
    explicit C10dTransfer(Works works, std::function<void()> then = {})
        : works_(std::move(works)), then_(std::move(then)) {}

    void wait() override {
        for (const auto& work : works_) together([&] { work->wait(); });
        if (then_) then_();
    }

private:
    Works works_;
    std::function<void()> then_;
};

bool all_equal(const std::vector<std::int64_t>& sizes) {
    return std::ranges::all_of(sizes, [&](std::int64_t size) { return size == sizes.front(); });
}

// Pieces of equal length. Later releases of LibTorch have other names for both, and warn of the older ones.
template <class Ranks>
c10::intrusive_ptr<c10d::Work> gather_equal(Ranks& ranks, at::Tensor& to, at::Tensor& from) {
    if constexpr (requires { ranks.all_gather_single(to, from); })
        return ranks.all_gather_single(to, from);
    else
        return ranks._allgather_base(to, from);
}
template <class Ranks>
c10::intrusive_ptr<c10d::Work> sum_equal(Ranks& ranks, at::Tensor& to, at::Tensor& from) {
    if constexpr (requires { ranks.reduce_scatter_single(to, from); })
        return ranks.reduce_scatter_single(to, from);
    else
        return ranks._reduce_scatter_base(to, from);
}

// What process groups are made with, all of the same ranks.
struct Means {
    std::string address;  // of rank 0
    config::Collectives backend;
    config::DistributedConfig config;
};

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  const Place& place, const Means& means);

class C10dGroup final : public Group {
public:
    C10dGroup(std::shared_ptr<Store> store, c10::intrusive_ptr<c10d::ProcessGroup> group, Means means)
        : store_(std::move(store)), group_(std::move(group)), means_(std::move(means)) {}

    std::unique_ptr<Group> among(const std::vector<std::int64_t>& ranks, const std::string& name) override {
        const auto own = std::ranges::find(ranks, group_->getRank());
        if (own == ranks.end())
            throw std::logic_error("a rank is not among those of the group that it makes");
        const auto all = dynamic_cast<const C10dStore&>(*store_).c10d();
        const Place place{own - ranks.begin(), static_cast<std::int64_t>(ranks.size())};
        c10::intrusive_ptr<c10d::ProcessGroup> made;
        together(
            [&] { made = make_group(c10::make_intrusive<c10d::PrefixStore>(name, all), place, means_); });
        return std::make_unique<C10dGroup>(store_, std::move(made), means_);
    }

    Place place() const override { return {group_->getRank(), group_->getSize()}; }
    Store& store() override { return *store_; }

    void sum(at::Tensor& tensor) override {
        std::vector<at::Tensor> tensors{tensor};
        together([&] { group_->allreduce(tensors)->wait(); });
    }
    void broadcast(at::Tensor& tensor, std::int64_t from) override {
        std::vector<at::Tensor> tensors{tensor};
        c10d::BroadcastOptions options;
        options.rootRank = from;
        together([&] { group_->broadcast(tensors, options)->wait(); });
    }
    std::vector<at::Tensor> gather(const at::Tensor& tensor) override {
        std::vector<at::Tensor> given{tensor.contiguous()};
        std::vector<std::vector<at::Tensor>> all(1);
        for (int rank = 0; rank < group_->getSize(); ++rank) all[0].push_back(at::empty_like(given[0]));
        together([&] { group_->allgather(all, given)->wait(); });
        return all[0];
    }
    void send(const at::Tensor& tensor, std::int64_t to) override {
        std::vector<at::Tensor> tensors{tensor.contiguous()};
        together([&] { group_->send(tensors, static_cast<int>(to), 0)->wait(); });
    }
    void receive(at::Tensor& tensor, std::int64_t from) override {
        std::vector<at::Tensor> tensors{tensor};
        together([&] { group_->recv(tensors, static_cast<int>(from), 0)->wait(); });
    }
    std::unique_ptr<Transfer> begin_send(const at::Tensor& tensor, std::int64_t to) override {
        Works works;
        std::vector<at::Tensor> tensors{tensor.contiguous()};
        together([&] { works.push_back(group_->send(tensors, static_cast<int>(to), 0)); });
        return std::make_unique<C10dTransfer>(std::move(works), [kept = tensors] {});
    }
    std::unique_ptr<GradientSum> sum_gradients(const std::vector<SummedParameter>& parameters,
                                               const SumOptions& options) override {
        return std::make_unique<ReducerSum>(parameters, group_, options);
    }

    // Pieces that are not equally long travel one by one.
    std::unique_ptr<Transfer> gather_pieces(const at::Tensor& own, const at::Tensor& all,
                                            const std::vector<std::int64_t>& sizes) override {
        Works works;
        auto from = own, to = all;
        if (all_equal(sizes)) {
            together([&] { works.push_back(gather_equal(*group_, to, from)); });
            return std::make_unique<C10dTransfer>(std::move(works));
        }
        piece_of(all, sizes, group_->getRank()).copy_(own);
        for_each_piece(all, sizes, [&](std::vector<at::Tensor>& piece, int rank) {
            c10d::BroadcastOptions options;
            options.rootRank = rank;
            works.push_back(group_->broadcast(piece, options));
        });
        return std::make_unique<C10dTransfer>(std::move(works));
    }
    std::unique_ptr<Transfer> sum_pieces(const at::Tensor& all, const at::Tensor& own,
                                         const std::vector<std::int64_t>& sizes) override {
        Works works;
        auto from = all, to = own;
        if (all_equal(sizes)) {
            together([&] { works.push_back(sum_equal(*group_, to, from)); });
            return std::make_unique<C10dTransfer>(std::move(works));
        }
        for_each_piece(all, sizes, [&](std::vector<at::Tensor>& piece, int rank) {
            c10d::ReduceOptions options;
            options.rootRank = rank;
            works.push_back(group_->reduce(piece, options));
        });
        const auto mine = piece_of(all, sizes, group_->getRank());
        return std::make_unique<C10dTransfer>(std::move(works), [to, mine] { to.copy_(mine); });
    }

private:
    // Of those that are not empty, with the rank whose it is.
    template <class Begin>
    static void for_each_piece(const at::Tensor& all, const std::vector<std::int64_t>& sizes,
                               const Begin& begin) {
        for (int rank = 0; rank < static_cast<int>(sizes.size()); ++rank) {
            std::vector<at::Tensor> piece{piece_of(all, sizes, rank)};
            if (piece[0].numel() > 0) together([&] { begin(piece, rank); });
        }
    }
    static at::Tensor piece_of(const at::Tensor& all, const std::vector<std::int64_t>& sizes, int rank) {
        const auto end = sizes.begin() + rank;
        return all.narrow(0, std::accumulate(sizes.begin(), end, std::int64_t{0}), *end);
    }

    std::shared_ptr<Store> store_;
    c10::intrusive_ptr<c10d::ProcessGroup> group_;
    Means means_;
};

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "localhost" || address == "::1";
}

// An interface of this machine, or why there is none.
std::string interface_problem(const std::string& name) {
    if (name.empty() || ::if_nametoindex(name.c_str()) != 0) return "";
    std::vector<std::string> known;
    if (auto* const all = ::if_nameindex()) {
        for (const auto* one = all; one->if_index != 0; ++one) known.emplace_back(one->if_name);
        ::if_freenameindex(all);
    }
    return "distributed.interface: there is no network interface \"" + name + "\" here; expected one of " +
           base::joined(known);
}

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                            const Means& means) {
    using Gloo = c10d::ProcessGroupGloo;
    const auto& interface = means.config.interface;
    auto options = Gloo::Options::create(milliseconds(means.config.timeout));
    options->devices.push_back(!interface.empty()           ? Gloo::createDeviceForInterface(interface)
                               : is_loopback(means.address) ? Gloo::createDeviceForHostname("127.0.0.1")
                                                            : Gloo::createDefaultDevice());
    return c10::make_intrusive<Gloo>(store, static_cast<int>(place.rank), static_cast<int>(place.world_size),
                                     options);
}

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                  const Place& place, const Means& means) {
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, static_cast<int>(place.rank),
                                                         static_cast<int>(place.world_size));
    group->setDefaultBackend(c10d::ProcessGroup::GLOO);
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::GLOO, make_gloo(store, place, means));
    if (means.backend == config::Collectives::nccl) add_nccl(&group, &store, means.config.timeout);
    return group;
}

std::string socket_text(const RankEnvironment& environment) {
    return environment.address + ":" + std::to_string(environment.port);
}

}  // namespace

std::string without_gradient(const std::vector<std::string>& names) {
    return "ranks cannot sum up gradients: backward made none of " + base::joined(names) +
           ", which the task does not use; freeze it with [[group]] frozen = true";
}

std::shared_ptr<Store> connect_store(const RankEnvironment& environment, double timeout_seconds) {
    FLAGS_caffe2_log_level = c10::GLOG_FATAL;  // where it matters, an error of ours says it
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(environment.port);
    options.isServer = environment.rank == 0 && !environment.has_server;
    options.waitWorkers = false;
    options.timeout = milliseconds(timeout_seconds);
    if (options.isServer && environment.listening >= 0) options.masterListenFd = environment.listening;
    try {
        // c10d gives up on an address where nobody listens, not on a listener that never says a word: so do
        // we, later.
        CallThread calls;
        auto store =
            answer_within(calls, 2.0 * timeout_seconds + 1.0, [address = environment.address, options] {
                return c10::make_intrusive<c10d::TCPStore>(address, options);
            });
        return std::make_shared<C10dStore>(
            c10::make_intrusive<c10d::PrefixStore>("switchyard/" + std::to_string(environment.attempt),
                                                   std::move(store)),
            timeout_seconds);
    } catch (const std::exception& error) {
        const auto why = first_line(error);
        if (why.find("EADDRINUSE") != std::string::npos)
            throw base::InputError(
                "error: MASTER_PORT: port " + std::to_string(environment.port) +
                " of this machine is in use, so that rank 0 cannot be reached there: expected a "
                "free one, and one process with rank 0");
        if (options.isServer)
            throw base::InputError("error: rank 0 cannot serve the others at " + socket_text(environment) +
                                   ": " + why);
        throw base::InputError("error: rank " + std::to_string(environment.rank) + " of " +
                               std::to_string(environment.world_size) + " cannot reach rank 0 at " +
                               socket_text(environment) + " (MASTER_ADDR, MASTER_PORT) within " +
                               std::to_string(static_cast<std::int64_t>(timeout_seconds)) + " s: " + why);
    }
}

std::shared_ptr<Store> connect_beside(const RankEnvironment& environment, double timeout_seconds) {
    auto served = environment;
    served.has_server = true;
    return connect_store(served, timeout_seconds);
}

std::unique_ptr<Group> join_group(const std::shared_ptr<Store>& store, const RankEnvironment& environment,
                                  config::Collectives backend, const config::DistributedConfig& config) {
    const Place place{environment.rank, environment.world_size};
    // Before anything waits for the others: what is wrong between them.
    const auto rank = std::to_string(place.rank);
    if (store->add("process/" + rank, 1) > 1)
        throw base::InputError("error: two processes say that they are rank " + rank + " of " +
                               std::to_string(place.world_size) +
                               ": each needs a RANK (or its starter's variable) of its own");
    if (auto problem = interface_problem(config.interface); !problem.empty())
        throw base::InputError("error: " + problem);
    const auto ranks = std::to_string(place.world_size);
    if (place.rank == 0) store->set("ranks", ranks);
    if (store->wait({"ranks"}, config.timeout) && *store->get("ranks") != ranks)
        throw base::InputError("error: rank " + rank + " was told that there are " + ranks +
                               " ranks, rank 0 that there are " + *store->get("ranks") +
                               ": WORLD_SIZE must be the same for all");
    meet(*store, place, "joined", "", config.timeout);
    const auto& c10d_store = dynamic_cast<const C10dStore&>(*store).c10d();
    try {
        const Means means{environment.address, backend, config};
        return std::make_unique<C10dGroup>(store, make_group(c10d_store, place, means), means);
    } catch (const base::InputError&) {
        throw;
    } catch (const std::exception& error) {
        throw RankLost(first_line(error));
    }
}

}  // namespace switchyard::distributed
