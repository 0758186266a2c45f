// Takes memory while it is loaded, until there is no more: up to a terabyte, of which nothing is ever written
// to.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
struct Hoard {
    Hoard() {
        constexpr std::size_t block = std::size_t{16} << 20, most = std::size_t{1} << 40;
        for (std::size_t taken = 0; taken < most; taken += block) {
            last = std::malloc(block);
            if (last == nullptr) throw std::bad_alloc();
        }
    }
    void* volatile last = nullptr;
} at_load;
}  // namespace
