// Parts of a loop that threads are dealt: together they are the loop, whoever gets which.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <ATen/Parallel.h>

#include <switchyard/sdk/cpu/dealt_parts.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// As many threads as a test wants, for as long as it lasts.
class Threads {
public:
    explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
    ~Threads() { at::set_num_threads(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_;
};

struct Dealt {
    std::vector<std::atomic<int>> times;
    std::atomic<std::int64_t> parts{0}, small{0};  // of fewer than `least`
};

void deal(std::int64_t total, std::int64_t least, Dealt& dealt) {
    over_dealt_parts(total, least, [&](std::int64_t first, std::int64_t last) {
        ++dealt.parts;
        if (last - first < least) ++dealt.small;
        for (std::int64_t i = first; i < last; ++i) ++dealt.times[static_cast<std::size_t>(i)];
    });
}

}  // namespace

TEST_CASE("each thing of a loop is in one of the parts that are dealt, and one part alone may be too small") {
    for (const int threads : {1, 2, 3, 8}) {
        const Threads set(threads);
        for (const std::int64_t total : {0, 1, 2, 7, 64, 1000, 50257}) {
            for (const std::int64_t least : {0, 1, 5, 64, 2000}) {
                INFO(threads << " threads, " << total << " in parts of at least " << least);
                Dealt dealt{std::vector<std::atomic<int>>(static_cast<std::size_t>(total))};
                deal(total, least, dealt);
                std::int64_t once = 0;
                for (const auto& times : dealt.times) once += times == 1 ? 1 : 0;
                CHECK(once == total);
                CHECK(dealt.small <= 1);
                if (total > 0 && total <= least) CHECK(dealt.parts == 1);
            }
        }
    }
}

TEST_CASE("a loop within a loop is whole, too") {
    const Threads set(4);
    std::vector<Dealt> dealt(4);
    for (auto& one : dealt) one.times = std::vector<std::atomic<int>>(100);
    at::parallel_for(0, 4, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) deal(100, 10, dealt[static_cast<std::size_t>(i)]);
    });
    for (const auto& one : dealt)
        for (const auto& times : one.times) CHECK(times == 1);
}

TEST_CASE("an error of a part is the loop's") {
    CHECK_THROWS_WITH(over_dealt_parts(10, 1,
                                       [](std::int64_t first, std::int64_t last) {
                                           if (first <= 5 && 5 < last) throw std::runtime_error("the sixth");
                                       }),
                      "the sixth");
}
