#include <switchyard/reference/epoch_order.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <switchyard/interfaces/dropout.h>

namespace switchyard::reference {
namespace {

// Uniform below `bound`, by the high half of a 128-bit product; what the rounding favours is less than bound
// / 2^64.
std::int64_t draw(std::uint64_t seed, std::int64_t epoch, std::int64_t place, std::uint64_t bound) {
    const auto low = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
    const auto words = philox4x32_10({low(place), low(place >> 32), low(epoch), low(epoch >> 32)}, seed);
    const std::uint64_t number = (std::uint64_t{words[1]} << 32) | words[0];
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(number) * bound) >> 64);
}

std::int64_t per_rank(std::int64_t size, const LoaderParams& params) {
    return params.drop_last ? size / params.world_size : (size + params.world_size - 1) / params.world_size;
}

}  // namespace

std::vector<std::int64_t> epoch_order(std::int64_t size, const LoaderParams& params, std::int64_t epoch) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    for (std::int64_t i = size - 1; params.shuffle && i > 0; --i) {
        std::swap(all[i], all[draw(params.seed, epoch, i, static_cast<std::uint64_t>(i) + 1)]);
    }
    if (params.world_size == 1) return all;
    std::vector<std::int64_t> own;
    own.reserve(static_cast<std::size_t>(per_rank(size, params)));
    const auto of_all = params.batch_size * params.world_size;
    for (std::int64_t begin = 0; begin < size; begin += of_all) {
        const auto each = per_rank(std::min(of_all, size - begin), params);
        for (std::int64_t i = 0; i < each; ++i) own.push_back(all[(begin + params.rank * each + i) % size]);
    }
    return own;
}

std::int64_t repeated_samples(std::int64_t size, const LoaderParams& params, std::int64_t batch) {
    const auto of_all = params.batch_size * params.world_size;
    const auto there = std::clamp<std::int64_t>(size - batch * of_all, 0, of_all);
    const auto each = per_rank(there, params);
    return std::clamp<std::int64_t>((params.rank + 1) * each - there, 0, each);
}

std::int64_t epoch_batches(std::int64_t size, const LoaderParams& params) {
    const auto own = per_rank(size, params);
    return params.drop_last ? own / params.batch_size : (own + params.batch_size - 1) / params.batch_size;
}

std::vector<std::int64_t> batch_samples(const std::vector<std::int64_t>& order, const LoaderParams& params,
                                        std::int64_t batch) {
    const auto size = static_cast<std::int64_t>(order.size());
    const auto begin = std::min(size, batch * params.batch_size);
    const auto end = std::min(size, begin + params.batch_size);
    return {order.begin() + begin, order.begin() + end};
}

}  // namespace switchyard::reference
