// Sums, texts and gradients over ranks that are threads here; c10d and Gloo are the real ones.
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <ATen/Functions.h>

#include <switchyard_test.h>
#include "core/kernel/base/input_error.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/distributed/nccl_library.h"
#include "some_ranks.h"

using namespace switchyard;
using namespace switchyard::distributed;
using test::as_ranks;

namespace {

// What the ranks found, in their order.
struct Findings {
    std::mutex mutex;
    std::vector<std::vector<at::Tensor>> tensors;
    explicit Findings(std::int64_t ranks) : tensors(static_cast<std::size_t>(ranks)) {}
    void add(const Group& group, std::vector<at::Tensor> found) {
        const std::lock_guard lock(mutex);
        tensors[static_cast<std::size_t>(group.rank())] = std::move(found);
    }
};

at::Tensor leaf(std::int64_t rows, std::int64_t columns) {
    return at::arange(rows * columns, at::kFloat).reshape({rows, columns}).div(7.0).requires_grad_(true);
}

}  // namespace

TEST_CASE("tensors are summed up, handed round and gathered over three ranks") {
    Findings found(3);
    as_ranks(3, [&](Group& group) {
        auto sum = at::full({5}, static_cast<double>(group.rank() + 1), at::kDouble);
        group.sum(sum);
        auto told = at::full({2}, group.rank(), at::kLong);
        group.broadcast(told, 2);
        auto all = group.gather(at::full({2}, group.rank(), at::kLong));
        found.add(group, {sum, told, at::cat(all)});
    });
    for (const auto& tensors : found.tensors) {
        CHECK(tensors[0].equal(at::full({5}, 6.0, at::kDouble)));
        CHECK(tensors[1].equal(at::full({2}, 2, at::kLong)));
        CHECK(tensors[2].equal(at::arange(3, at::kLong).repeat_interleave(2)));
    }
}

TEST_CASE("ranks of a mesh sum up with those of their row, and of their column") {
    Findings found(4);
    as_ranks(4, [&](Group& group) {
        const Mesh mesh(group, {.tensor = 2});
        std::vector<at::Tensor> sums;
        for (auto* const some : {mesh.tensor(), mesh.data(), &mesh.world()}) {
            auto sum = at::full({1}, static_cast<double>(1 << group.rank()), at::kDouble);
            some->sum(sum);
            sums.push_back(sum);
        }
        sums.push_back(at::full({1}, static_cast<double>(10 * mesh.data_index() + mesh.tensor()->rank())));
        found.add(group, sums);
    });
    const std::vector<std::vector<double>> expected{
        {3, 5, 15, 0}, {3, 10, 15, 1}, {12, 5, 15, 10}, {12, 10, 15, 11}};
    for (std::size_t rank = 0; rank < 4; ++rank)
        for (std::size_t i = 0; i < 4; ++i) CHECK(found.tensors[rank][i].item<double>() == expected[rank][i]);
    as_ranks(2, [&](Group& group) {
        const Mesh mesh(group, {.tensor = 2});
        if (mesh.data() != nullptr || mesh.data_ranks() != 1) throw std::runtime_error("there is one batch");
    });
}

TEST_CASE("stages of a mesh are furthest apart, and hand on with who has the same part of the same batches") {
    Findings found(8);
    as_ranks(8, [&](Group& group) {
        const Mesh mesh(group, {.tensor = 2, .pipeline = 2});
        std::vector<at::Tensor> sums;
        for (auto* const some : {mesh.tensor(), mesh.data(), mesh.pipeline(), mesh.model()}) {
            auto sum = at::full({1}, static_cast<double>(1 << group.rank()), at::kDouble);
            some->sum(sum);
            sums.push_back(sum);
        }
        sums.push_back(at::full({1}, static_cast<double>(10 * mesh.stage() + mesh.pipeline()->rank())));
        sums.push_back(at::full({1}, mesh.speaks_for_batches(group.rank()) ? 1.0 : 0.0));
        found.add(group, sums);
    });
    for (int rank = 0; rank < 8; ++rank) {
        const int stage = rank / 4, data = rank / 2 % 2, part = rank % 2;
        const auto bit = [](int s, int d, int p) { return 1 << (4 * s + 2 * d + p); };
        const std::vector<double> expected{
            static_cast<double>(bit(stage, data, 0) + bit(stage, data, 1)),
            static_cast<double>(bit(stage, 0, part) + bit(stage, 1, part)),
            static_cast<double>(bit(0, data, part) + bit(1, data, part)),
            static_cast<double>(bit(0, data, 0) + bit(0, data, 1) + bit(1, data, 0) + bit(1, data, 1)),
            11.0 * stage,
            stage == 1 && part == 0 ? 1.0 : 0.0};
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(found.tensors[static_cast<std::size_t>(rank)][i].item<double>() == expected[i]);
    }
}

TEST_CASE("what is begun to be sent arrives in its order, both ways at once") {
    Findings found(2);
    as_ranks(2, [&](Group& group) {
        const auto other = 1 - group.rank();
        std::vector<std::unique_ptr<Transfer>> sent;
        for (int i = 0; i < 3; ++i)
            sent.push_back(
                group.begin_send(at::full({200000}, 10.0 * static_cast<double>(group.rank()) + i), other));
        std::vector<at::Tensor> received;
        for (int i = 0; i < 3; ++i) {
            received.push_back(at::zeros({200000}));
            group.receive(received.back(), other);
        }
        for (const auto& one : sent) one->wait();
        found.add(group, received);
    });
    for (int rank = 0; rank < 2; ++rank)
        for (int i = 0; i < 3; ++i) {
            const auto& one = found.tensors[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
            CHECK(one.equal(at::full({200000}, 10.0 * (1 - rank) + i)));
        }
}

TEST_CASE("pieces are gathered, and summed up piece by piece, whether they are equally long or not") {
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{4, 4, 4}, {5, 0, 3}, {1, 2, 7}}) {
        const auto begin = [&](std::int64_t rank) {
            return std::accumulate(sizes.begin(), sizes.begin() + rank, std::int64_t{0});
        };
        const auto values = at::arange(begin(3), at::kFloat);
        for (const auto dtype : {at::kFloat, at::kBFloat16}) {
            Findings found(3);
            as_ranks(3, [&](Group& group) {
                const auto size = sizes[static_cast<std::size_t>(group.rank())];
                const auto own = values.narrow(0, begin(group.rank()), size).to(dtype);
                const auto all = at::full({begin(3)}, -1.0, dtype);
                const auto summed = values.mul(static_cast<double>(group.rank() + 1)).to(dtype);
                const auto sum = at::full({size}, -1.0, dtype);
                const auto gathering = group.gather_pieces(own, all, sizes);
                const auto summing = group.sum_pieces(summed, sum, sizes);
                summing->wait();
                gathering->wait();
                found.add(group, {all, sum});
            });
            for (std::int64_t rank = 0; rank < 3; ++rank) {
                const auto& tensors = found.tensors[static_cast<std::size_t>(rank)];
                CHECK(tensors[0].equal(values.to(dtype)));
                const auto own = values.narrow(0, begin(rank), sizes[static_cast<std::size_t>(rank)]);
                CHECK(tensors[1].equal(own.mul(6.0).to(dtype)));
            }
        }
    }
}

TEST_CASE("what one rank sends another one receives, in that order") {
    Findings found(3);
    as_ranks(3, [&](Group& group) {
        std::vector<at::Tensor> received;
        if (group.rank() > 0) {
            group.send(at::full({2, 3}, group.rank(), at::kByte), 0);
            group.send(at::full({4}, static_cast<double>(group.rank()) / 2.0, at::kFloat), 0);
        } else {
            for (const std::int64_t from : {2, 1}) {
                received.push_back(at::zeros({2, 3}, at::kByte));
                group.receive(received.back(), from);
                received.push_back(at::zeros({4}, at::kFloat));
                group.receive(received.back(), from);
            }
        }
        found.add(group, received);
    });
    const auto& all = found.tensors[0];
    REQUIRE(all.size() == 4);
    CHECK(all[0].equal(at::full({2, 3}, 2, at::kByte)));
    CHECK(all[1].equal(at::full({4}, 1.0, at::kFloat)));
    CHECK(all[2].equal(at::full({2, 3}, 1, at::kByte)));
    CHECK(all[3].equal(at::full({4}, 0.5, at::kFloat)));
}

TEST_CASE("gradients are the sums over ranks and over the backwards before the last") {
    const auto bucket_mb = GENERATE(25.0, 0.00001);
    Findings found(3);
    as_ranks(3, [&](Group& group) {
        const auto a = leaf(3, 4), b = leaf(40, 2);
        const auto sum = group.sum_gradients({{"a", a}, {"b", b}}, {.bucket_mb = bucket_mb});
        for (int step = 0; step < 3; ++step) {
            a.mutable_grad().reset();
            b.mutable_grad().reset();
            for (int micro = 0; micro < 2; ++micro) {
                const double factor = static_cast<double>(group.rank() + 1) * (micro + 1) * (step + 1);
                const auto loss = a.mul(a).sum().add(b.sum()).mul(factor);
                if (micro == 1) sum->begin();
                loss.backward();
            }
            sum->end();
            CHECK_FALSE(sum->failed());
        }
        found.add(group, {a.grad().clone(), b.grad().clone(), a.detach()});
    });
    for (const auto& tensors : found.tensors) {
        const double all = 6.0 * 3.0 * 3.0;  // ranks, backwards, the third step
        CHECK(at::allclose(tensors[0], tensors[2].mul(2.0 * all)));
        CHECK(at::allclose(tensors[1], at::full({40, 2}, all)));
        CHECK(tensors[0].equal(found.tensors[0][0]));
    }
}

TEST_CASE("when each bucket was summed up beside backward is written down") {
    const bool as_bfloat16 = GENERATE(false, true);
    std::mutex mutex;
    std::vector<BackwardTrace> traces;
    as_ranks(2, [&](Group& group) {
        const auto a = leaf(300, 4), b = leaf(40, 2), c = leaf(7, 1);
        const auto sum = group.sum_gradients({{"a", a}, {"b", b}, {"c", c}},
                                             {.bucket_mb = 0.0001, .as_bfloat16 = as_bfloat16});
        for (int step = 0; step < 2; ++step) {
            sum->begin();
            a.mul(a).sum().add(b.sum()).add(c.sum()).backward();
            sum->end();
            REQUIRE(sum->trace());
            const std::lock_guard lock(mutex);
            traces.push_back(*sum->trace());
        }
    });
    REQUIRE(traces.size() == 4);
    for (const auto& trace : traces) {
        // Of 104 bytes at most: c and b fill the first one, a the second.
        REQUIRE(trace.sums.size() == 2);
        CHECK(trace.sums[0].bytes == 4 * (7 + 80));
        CHECK(trace.sums[1].bytes == 4 * 1200);
        CHECK(trace.sums[0].begin_seconds > 0.0);
        CHECK(trace.sums[1].begin_seconds >= trace.sums[0].begin_seconds);
        CHECK(trace.backward_seconds == trace.sums[1].begin_seconds);
        for (const auto& sum : trace.sums) CHECK(sum.end_seconds > sum.begin_seconds);
        CHECK(trace.all_seconds() < 60.0);
    }
}

TEST_CASE("gradients that travel as bfloat16 are rounded once a rank") {
    Findings found(2);
    as_ranks(2, [&](Group& group) {
        const auto a = leaf(3, 4);
        const auto sum = group.sum_gradients({{"a", a}}, {.as_bfloat16 = true});
        sum->begin();
        a.mul(1.001).sum().backward();
        sum->end();
        found.add(group, {a.grad().clone()});
    });
    const auto rounded = at::full({3, 4}, 1.001).to(at::kBFloat16);
    for (const auto& tensors : found.tensors) {
        CHECK(tensors[0].scalar_type() == at::kFloat);
        CHECK(tensors[0].equal(rounded.add(rounded).to(at::kFloat)));
    }
}

TEST_CASE("a parameter that backward does not reach is named") {
    const auto act = [](Group& group) {
        const auto a = leaf(3, 4), b = leaf(2, 2);
        const auto sum = group.sum_gradients({{"a", a}, {"unused.weight", b}}, {});
        sum->begin();
        a.sum().backward();
        sum->end();
    };
    CHECK_THROWS_WITH(as_ranks(2, act),
                      test::contains("backward made none of unused.weight") && test::contains("[[group]]"));
}

TEST_CASE("a rank that goes away is noticed by the others") {
    std::string lost;
    as_ranks(2, [&](Group& group) {
        if (group.rank() == 1) return;
        auto tensor = at::ones({3});
        try {
            group.sum(tensor);
        } catch (const RankLost& error) {
            lost = error.what();
        }
    });
    CHECK(lost != "");
}

TEST_CASE("what is wrong between ranks is told before they compute") {
    auto ranks = test::local_ranks(2);
    const auto server = connect_store(ranks[0], 60.0);
    const auto message = [&](const RankEnvironment& rank, const std::string& interface = "") -> std::string {
        config::DistributedConfig config;
        config.timeout = 0.2;
        config.interface = interface;
        try {
            join_group(connect_store(rank, 60.0), rank, config::Collectives::gloo, config);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    };
    SECTION("rank 0 waits for rank 1, which does not come") {
        auto again = ranks[0];
        again.has_server = true;  // it is served above
        CHECK(message(again) == "waited 0 s for rank 1 of 2 to come");
    }
    SECTION("two processes are one rank") {
        message(ranks[1]);
        CHECK_THAT(message(ranks[1]), test::contains("two processes say that they are rank 1 of 2"));
    }
    SECTION("there is no such interface") {
        CHECK_THAT(message(ranks[1], "wlan77"), test::contains("no network interface \"wlan77\"") &&
                                                    test::contains("expected one of") &&
                                                    test::contains("lo"));
    }
    SECTION("ranks were told different numbers of ranks") {
        server->set("ranks", "2");
        ranks[1].world_size = 3;
        CHECK_THAT(message(ranks[1]),
                   test::contains("was told that there are 3 ranks, rank 0 that there are 2"));
    }
}

TEST_CASE("a port in use and a rank 0 that is not there are named") {
    const auto ranks = test::local_ranks(2);
    auto second = ranks[0];
    second.listening = -1;  // the first one's socket is open
    CHECK_THROWS_WITH(connect_store(second, 5.0),
                      test::contains("port " + std::to_string(second.port) + " of this machine is in use"));
    CHECK_THROWS_AS(connect_store(second, 5.0), base::InputError);
    auto nowhere = ranks[1];
    nowhere.port = 1;  // of the system, closed
    CHECK_THROWS_WITH(connect_store(nowhere, 0.1),
                      test::contains("rank 1 of 2 cannot reach rank 0 at 127.0.0.1:1"));
}

TEST_CASE("whoever listens at the address of rank 0 and never answers is not waited for without end") {
    const auto ranks = test::local_ranks(2);  // nobody takes a call at the first one's socket
    CHECK_THROWS_WITH(connect_store(ranks[1], 0.1),
                      test::contains("rank 1 of 2 cannot reach rank 0 at 127.0.0.1:") &&
                          test::contains("no answer within 1.20 s"));
}

TEST_CASE("the network interface is told to NCCL, unless the environment names one") {
    const std::string variable = "NCCL_SOCKET_IFNAME";
    const auto told = [&] {
        const char* const value = std::getenv(variable.c_str());
        return std::string(value == nullptr ? "(nothing)" : value);
    };
    ::unsetenv(variable.c_str());
    name_nccl_interface("");
    CHECK(told() == "(nothing)");
    name_nccl_interface("ib0");
    CHECK(told() == "=ib0");
    name_nccl_interface("eth1");
    CHECK(told() == "=ib0");
    ::unsetenv(variable.c_str());
}
