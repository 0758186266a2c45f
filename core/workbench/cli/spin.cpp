#include "core/workbench/cli/spin.h"

#include <cstdlib>
#include <string_view>

namespace switchyard::cli {
namespace {

constexpr const char* ours = "SWITCHYARD_SPIN";  // says that the count is not the user's, and which it is
constexpr const char* count = "GOMP_SPINCOUNT";

// libgomp's own count where nothing is said is 300,000: 3 ms on one processor, 6 on another. What one thread
// does between two loops of all lasts 10 to 100 us, which the brief count outlasts: to be woken takes 50.
const char* count_of(config::Spin spin) {
    switch (spin) {
        case config::Spin::never:
            return "0";
        case config::Spin::brief:
            return "10000";
        default:
            return "300000";
    }
}

bool user_says() {
    return std::getenv(ours) == nullptr &&
           (std::getenv(count) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr);
}

}  // namespace

std::vector<std::string> spin_environment(config::Spin spin) {
    if (user_says()) return {};
    return {std::string(ours) + "=" + std::string(name(spin)), std::string(count) + "=" + count_of(spin)};
}

void set_spin(config::Spin spin) {
    if (user_says()) return;
    ::setenv(ours, std::string(name(spin)).c_str(), 1);
    ::setenv(count, count_of(spin), 1);
}

bool spins_otherwise(config::Spin spin) {
    if (user_says()) return false;
    const char* const now = std::getenv(ours);
    return (now == nullptr ? name(config::Spin::lengthy) : std::string_view(now)) != name(spin);
}

}  // namespace switchyard::cli
