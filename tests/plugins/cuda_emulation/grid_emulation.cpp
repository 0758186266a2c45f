#include "grid_emulation.h"

#include <algorithm>
#include <deque>
#include <memory>

namespace switchyard::emulation {
namespace {

struct Copy {
    unsigned char* shared;
    const unsigned char* global;  // nullptr: zeros
};

struct Copies {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
};

struct Grid {
    Statistics statistics;
    bool last_warp_first = false;
    int block = 0;
    std::int64_t blocks = 0;
    Shared shared;
    std::vector<Warp> warps;
    std::vector<Copies> copies;
};

Grid& grid() {
    static Grid one;
    return one;
}

constexpr std::size_t copy_bytes = 16;

// Every 16-bit pattern's value.
const std::vector<float>& half_values() {
    static const std::vector<float> values = [] {
        std::vector<float> made(65536);
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const int exponent = static_cast<int>((bits >> 10U) & 31U);
            const auto fraction = static_cast<float>(bits & 1023U);
            float value =
                exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0F + fraction, exponent - 25);
            if (exponent == 31) value = fraction == 0.0F ? INFINITY : NAN;
            made[bits] = (bits & 0x8000U) != 0 ? -value : value;
        }
        return made;
    }();
    return values;
}

template <class T>
float element(std::uint32_t pair, int half) {
    return to_float(T{static_cast<std::uint16_t>(half == 0 ? pair & 0xFFFFU : pair >> 16U)});
}

}  // namespace

Statistics& statistics() { return grid().statistics; }
bool& last_warp_first() { return grid().last_warp_first; }
int& current_block() { return grid().block; }
std::int64_t grid_blocks() { return grid().blocks; }
Shared& shared_memory() { return grid().shared; }
Warp& current_warp() { return grid().warps[current_thread() / 32]; }

void Shared::check(const void* place, std::size_t bytes, std::size_t alignment) const {
    const auto* at = static_cast<const unsigned char*>(place);
    if (at < data || at + bytes > data + size) violate("an address outside of the block's shared memory");
    if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0)
        violate("an unaligned address in shared memory");
}

float to_float(device::Bf16 value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16U;
    float result = 0.0F;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
}

float to_float(device::Fp16 value) { return half_values()[value.bits]; }

// To nearest, ties to even.
void round_to(float value, device::Bf16& result) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    if (std::isnan(value)) {
        result.bits = 0x7FFF;
        return;
    }
    result.bits = static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

void round_to(float value, device::Fp16& result) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float size = std::fabs(value);
    if (std::isnan(value)) {
        result.bits = 0x7FFF;
    } else if (size >= 65520.0F) {
        result.bits = sign | 0x7C00;
    } else {
        int exponent = 0;
        std::frexp(size, &exponent);  // size = f * 2^exponent, f in [1/2, 1)
        const int unit = size == 0.0F ? -24 : std::max(exponent - 11, -24);  // of the last place
        const auto count = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
        // With a unit of -24 the count is the pattern itself; above, each step of the exponent adds 1024.
        result.bits =
            static_cast<std::uint16_t>(sign | (count + 1024U * static_cast<std::uint32_t>(unit + 24)));
    }
}

// Lane 8 m + r brings row r of matrix m. Lane l takes, of each matrix, elements 2 (l % 4) and the next of row
// l / 4; transposed: of column l / 4.
void exchange_matrices(Lane (&lanes)[32], bool transposed) {
    std::uint16_t elements[4][8][8];
    for (int matrix = 0; matrix < 4; ++matrix) {
        unsigned banks = 0;
        for (int row = 0; row < 8; ++row) {
            const unsigned char* place = lanes[8 * matrix + row].row;
            shared_memory().check(place, copy_bytes, copy_bytes);
            std::memcpy(elements[matrix][row], place, copy_bytes);
            const unsigned bank = 1U << ((reinterpret_cast<std::uintptr_t>(place) / copy_bytes) % 8);
            if ((banks & bank) != 0) ++statistics().bank_conflicts;
            banks |= bank;
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
        const int row = lane / 4, column = 2 * (lane % 4);
        for (int matrix = 0; matrix < 4; ++matrix) {
            const auto& of = elements[matrix];
            const std::uint32_t low = transposed ? of[column][row] : of[row][column];
            const std::uint32_t high = transposed ? of[column + 1][row] : of[row][column + 1];
            lanes[lane].result[matrix] = low | (high << 16U);
        }
    }
}

// Element i (0 to 7) of a lane's A stands at row l / 4 (+ 8 for i in 2, 3, 6, 7) and column 2 (l % 4) + i % 2
// (+ 8 for i >= 4); element i (0 to 3) of its B at row 2 (l % 4) + i % 2 (+ 8 for i >= 2) and column l / 4;
// element i of its C at row l / 4 (+ 8 for i >= 2) and column 2 (l % 4) + i % 2.
template <class T>
void multiply_fragments(Lane (&lanes)[32]) {
    float a[16][16], b[16][8], c[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4, pair = 2 * (lane % 4);
        for (int i = 0; i < 8; ++i)
            a[group + (i % 4 >= 2 ? 8 : 0)][pair + i % 2 + (i >= 4 ? 8 : 0)] =
                element<T>(lanes[lane].a[i / 2], i % 2);
        for (int i = 0; i < 4; ++i) {
            b[pair + i % 2 + (i >= 2 ? 8 : 0)][group] = element<T>(lanes[lane].b[i / 2], i % 2);
            c[group + (i >= 2 ? 8 : 0)][pair + i % 2] = lanes[lane].c[i];
        }
    }
    for (int row = 0; row < 16; ++row) {
        for (int k = 0; k < 16; ++k) {
            for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i) lanes[lane].c[i] = c[lane / 4 + (i >= 2 ? 8 : 0)][2 * (lane % 4) + i % 2];
    }
    ++statistics().products;
}
template void multiply_fragments<device::Bf16>(Lane (&lanes)[32]);
template void multiply_fragments<device::Fp16>(Lane (&lanes)[32]);

// What is on its way is NaN: for who reads too early, and for who still reads what was there before.
void issue_copy(void* shared, const void* global, bool real) {
    shared_memory().check(shared, copy_bytes, copy_bytes);
    if (reinterpret_cast<std::uintptr_t>(global) % copy_bytes != 0)
        violate("an asynchronous copy of 16 bytes from an unaligned address");
    std::memset(shared, 0xFF, copy_bytes);
    grid().copies[current_thread()].open.push_back(
        {static_cast<unsigned char*>(shared), real ? static_cast<const unsigned char*>(global) : nullptr});
}

void commit() {
    Copies& copies = grid().copies[current_thread()];
    copies.groups.push_back(std::move(copies.open));
    copies.open.clear();
}

void wait(int left) {
    Copies& copies = grid().copies[current_thread()];
    while (static_cast<int>(copies.groups.size()) > left) {
        for (const Copy& copy : copies.groups.front()) {
            if (copy.global != nullptr) {
                std::memcpy(copy.shared, copy.global, copy_bytes);
            } else {
                std::memset(copy.shared, 0, copy_bytes);
            }
        }
        copies.groups.pop_front();
    }
}

void run_grid(const device::Launch& geometry, const std::function<void(unsigned char*)>& kernel) {
    Grid& g = grid();
    // A block may have 227 KB at most (CUDA C++ Programming Guide, technical specifications, 9.0).
    if (geometry.shared_bytes > 227U * 1024U) throw Violation("more shared memory than a block can have");
    const std::size_t size = geometry.shared_bytes, alignment = 128;
    const std::unique_ptr<unsigned char[]> memory(new unsigned char[size + alignment]);
    const auto start = reinterpret_cast<std::uintptr_t>(memory.get());
    g.shared = {memory.get() + (alignment - start % alignment) % alignment, size};
    ++g.statistics.launches;
    g.statistics.blocks += geometry.blocks;
    g.statistics.largest_shared = std::max(g.statistics.largest_shared, static_cast<std::int64_t>(size));
    const std::function<void()> body = [&] { kernel(g.shared.data); };
    g.blocks = geometry.blocks;
    for (std::int64_t block = 0; block < geometry.blocks; ++block) {
        g.block = static_cast<int>(block);
        std::memset(g.shared.data, 0xFF, size);
        g.warps.assign(geometry.threads / 32, {});
        g.copies.assign(geometry.threads, {});
        run_threads({geometry.threads, g.last_warp_first}, body);
        for (const Copies& copies : g.copies) {
            if (!copies.open.empty() || !copies.groups.empty())
                throw Violation("a block ended before its asynchronous copies did");
        }
    }
}

}  // namespace switchyard::emulation
