#include <switchyard/conformance/draw.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/dropout.h>

namespace switchyard::conformance {

Draw::Draw(Kind kind, std::int64_t number, int attempt, std::uint64_t seed)
    : Draw(kind, "drawn/" + std::to_string(number), attempt, seed) {}

Draw::Draw(Kind kind, std::string family, int attempt, std::uint64_t seed)
    : family_(std::move(family)),
      seed_(seed_of(std::string(name(kind)) + "/" + family_ + "/" + std::to_string(attempt), seed)),
      special_(1.0 - static_cast<double>(attempt) / (attempts - 1)) {}

double Draw::fraction() {
    const auto words = philox4x32_10({next_++, 0, 3, 0}, seed_);
    return static_cast<double>(words[0]) / 4294967296.0;
}

std::int64_t Draw::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(fraction() * static_cast<double>(high - low + 1));
}

std::int64_t Draw::size(std::int64_t low, std::int64_t high) {
    const double span = std::log(static_cast<double>(high + 1) / static_cast<double>(low));
    const auto drawn = static_cast<std::int64_t>(static_cast<double>(low) * std::exp(fraction() * span));
    return std::clamp(drawn, low, high);
}

bool Draw::chance(double p) { return fraction() < p; }

bool Draw::special(double p) { return fraction() < p * special_; }

RequestDraw::RequestDraw(Kind kind, std::int64_t request, std::int64_t number, std::uint64_t seed)
    : Draw(kind, "asked/" + std::to_string(request) + "/" + std::to_string(number), 0, seed),
      number_(number) {}

std::int64_t RequestDraw::within(Range range, std::int64_t most) {
    const std::int64_t low = std::max<std::int64_t>(range.min, 1);
    const std::int64_t high = std::max(low, std::min(range.max, most));
    if (number_ < 2) return number_ == 0 ? low : high;
    return size(low, high);
}

}  // namespace switchyard::conformance
