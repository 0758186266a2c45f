// The emulator's own operations against the statement of PTX ISA 8.7, written here the other way round: from
// a place in a matrix to the lane and register that hold it. And what it calls a violation. To add an
// operation: where its result belongs, and one misuse.
#include "device.h"

#include <random>

#include <switchyard/interfaces/dropout.h>

#include <switchyard_test.h>

namespace device = switchyard::flash_cuda::device;
using device::Bf16;
using device::Fp16;
using device::Launch;
using switchyard::emulation::Violation;

namespace {

template <class Body>
struct Kernel {
    static constexpr int threads = 64;
    const Body& body;
    void operator()(unsigned char* shared) const { body(shared); }
};

template <class Body>
void run(const Body& body, std::size_t shared_bytes = 4096, int blocks = 1) {
    device::launch(Kernel<Body>{body}, Launch{blocks, 64, shared_bytes}, nullptr);
}

struct Place {
    int lane, element;  // elements of a lane in order, two a register for 16 bits
};
// Element e of the row-major 16x8 and 16x16 matrices of the section on mma.m16n8k16.
Place place_in_a(int row, int k) {
    return {(row % 8) * 4 + (k % 8) / 2, (k / 8) * 4 + (row / 8) * 2 + k % 2};
}
Place place_in_b(int k, int column) { return {column * 4 + (k % 8) / 2, (k / 8) * 2 + k % 2}; }
Place place_in_c(int row, int column) { return {(row % 8) * 4 + column / 2, (row / 8) * 2 + column % 2}; }

template <class T>
void put(std::uint32_t* registers, int element, float value) {
    const std::uint32_t bits = device::pack<T>(value, 0.0F);
    registers[element / 2] |= element % 2 == 0 ? bits : bits << 16U;
}

// The product of small whole numbers is exact in every dtype and order.
template <class T>
void check_product() {
    float a[16][16], b[16][8], expected[16][8], found[16][8] = {};
    std::uint32_t a_of[32][4] = {}, b_of[32][2] = {};
    std::mt19937 random(7);
    const auto number = [&] { return static_cast<float>(static_cast<int>(random() % 9) - 4); };
    for (int i = 0; i < 16; ++i) {
        for (int k = 0; k < 16; ++k) {
            a[i][k] = number();
            put<T>(a_of[place_in_a(i, k).lane], place_in_a(i, k).element, a[i][k]);
        }
        for (int j = 0; j < 8; ++j) {
            b[i][j] = number();
            put<T>(b_of[place_in_b(i, j).lane], place_in_b(i, j).element, b[i][j]);
        }
    }
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            expected[i][j] = static_cast<float>(100 * i + j);
            for (int k = 0; k < 16; ++k) expected[i][j] += a[i][k] * b[k][j];
        }
    }
    run([&](unsigned char*) {
        const int lane = device::lane();
        float c[4] = {};
        for (int i = 0; i < 16; ++i) {
            for (int j = 0; j < 8; ++j) {
                const Place place = place_in_c(i, j);
                if (place.lane == lane) c[place.element] = static_cast<float>(100 * i + j);
            }
        }
        device::mma<T>(c, a_of[lane], b_of[lane]);
        for (int i = 0; i < 16; ++i) {
            for (int j = 0; j < 8; ++j) {
                const Place place = place_in_c(i, j);
                if (place.lane == lane) found[i][j] = c[place.element];
            }
        }
    });
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) CHECK(found[i][j] == expected[i][j]);
    }
}

}  // namespace

TEST_CASE("mma multiplies fragments that are filled as the instruction set says") {
    check_product<Bf16>();
    check_product<Fp16>();
}

TEST_CASE("ldmatrix hands out rows, transposed: columns") {
    std::uint32_t plain[32][4], turned[32][4];
    run([&](unsigned char* shared) {
        auto* const data = reinterpret_cast<std::uint16_t*>(shared);
        for (int i = device::thread(); i < 4 * 64; i += 64) data[i] = static_cast<std::uint16_t>(i);
        device::sync_block();
        const int lane = device::lane();
        std::uint32_t r[4], t[4];
        device::load_matrices(r, data + 8 * lane);
        device::load_matrices_transposed(t, data + 8 * lane);
        for (int m = 0; m < 4; ++m) {
            plain[lane][m] = r[m];
            turned[lane][m] = t[m];
        }
    });
    for (int matrix = 0; matrix < 4; ++matrix) {
        for (int row = 0; row < 8; ++row) {
            for (int column = 0; column < 8; ++column) {
                const auto value = static_cast<std::uint32_t>(64 * matrix + 8 * row + column);
                const std::uint32_t r = plain[row * 4 + column / 2][matrix];
                const std::uint32_t t = turned[column * 4 + row / 2][matrix];
                CHECK((column % 2 == 0 ? r & 0xFFFFU : r >> 16U) == value);
                CHECK((row % 2 == 0 ? t & 0xFFFFU : t >> 16U) == value);
            }
        }
    }
}

TEST_CASE("shuffles and votes reach all lanes of a warp and no other") {
    std::vector<float> found(64);
    std::vector<int> any(64);
    run([&](unsigned char*) {
        const int thread = device::thread();
        found[thread] = device::shuffle_xor(static_cast<float>(thread), 5);
        any[thread] = device::any_lane(thread == 40) ? 1 : 0;
    });
    for (int i = 0; i < 64; ++i) {
        CHECK(found[i] == static_cast<float>(i ^ 5));
        CHECK(any[i] == (i >= 32 ? 1 : 0));
    }
}

TEST_CASE("numbers are rounded to nearest, ties to even") {
    float low = 0, high = 0;
    device::unpack<Bf16>(device::pack<Bf16>(1.00390625F, 1.01171875F), low, high);  // halfway between two
    CHECK(low == 1.0F);
    CHECK(high == 1.015625F);
    device::unpack<Fp16>(device::pack<Fp16>(1.00048828125F, -65519.0F), low, high);
    CHECK(low == 1.0F);
    CHECK(high == -65504.0F);
    device::unpack<Fp16>(device::pack<Fp16>(std::ldexp(3.0F, -25), 65520.0F), low, high);
    CHECK(low == std::ldexp(1.0F, -23));
    CHECK(high == INFINITY);
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        device::unpack<Fp16>(bits, low, high);
        if (!std::isnan(low) && device::pack<Fp16>(low, 0.0F) != bits) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("an asynchronous copy is there once it was waited for, and not before") {
    alignas(16) std::uint32_t source[4] = {1, 2, 3, 4};
    run([&](unsigned char* shared) {
        auto* const place = reinterpret_cast<std::uint32_t*>(shared) + 8 * device::thread();
        place[0] = 9;
        device::copy_async(place, source, true);
        device::commit_copies();
        device::copy_async(place + 4, source, false);
        device::commit_copies();
        if (place[0] != 0xFFFFFFFFU) switchyard::emulation::violate("there too early");
        device::wait_copies<1>();
        if (place[3] != 4 || place[4] != 0xFFFFFFFFU) switchyard::emulation::violate("wrong after the first");
        device::wait_copies<0>();
        if (place[4] != 0 || place[7] != 0) switchyard::emulation::violate("wrong after the second");
    });
}

TEST_CASE("misuse is a violation") {
    alignas(16) std::uint32_t source[8] = {};
    using switchyard::test::contains;
    const auto lanes_apart = [](unsigned char*) {
        if (device::lane() < 7) device::sync_warp();
        device::sync_block();
    };
    CHECK_THROWS_WITH(run(lanes_apart), contains("lanes of warp 0 wait for lanes that are elsewhere"));
    const auto half_a_block = [](unsigned char*) {
        if (device::warp() == 0) device::sync_block();
    };
    CHECK_THROWS_WITH(run(half_a_block), contains("32 threads of a block have ended, 32 wait"));
    const auto two_operations = [](unsigned char*) {
        if (device::lane() < 7) {
            device::sync_warp();
        } else {
            device::shuffle_xor(1.0F, 1);
        }
    };
    CHECK_THROWS_WITH(run(two_operations), contains("different operations"));
    const auto outside = [&](unsigned char* shared) { device::copy_async(shared + 4096, source, true); };
    CHECK_THROWS_WITH(run(outside), contains("outside of the block's shared memory"));
    const auto unaligned = [&](unsigned char* shared) { device::copy_async(shared, source + 1, true); };
    CHECK_THROWS_WITH(run(unaligned), contains("from an unaligned address"));
    const auto unfinished = [&](unsigned char* shared) {
        device::copy_async(shared + 16 * device::thread(), source, true);
        device::commit_copies();
    };
    CHECK_THROWS_WITH(run(unfinished), contains("before its asynchronous copies"));
    CHECK_THROWS_WITH(run([](unsigned char*) {}, 228 * 1024), contains("more shared memory"));
    run([](unsigned char*) { device::sync_block(); });  // and it works again
}

TEST_CASE("a missing barrier shows in one order of warps or the other") {
    const auto exchange = [](bool barrier, bool last_first) {
        switchyard::emulation::last_warp_first() = last_first;
        std::vector<float> found(64);
        run([&](unsigned char* shared) {
            auto* const data = reinterpret_cast<float*>(shared);
            data[device::thread()] = 1.0F;
            if (barrier) device::sync_block();
            found[device::thread()] = data[device::thread() ^ 32];
        });
        switchyard::emulation::last_warp_first() = false;
        return found;
    };
    CHECK(exchange(true, false) == exchange(true, true));
    CHECK(std::isnan(exchange(false, false)[0]));
    CHECK(std::isnan(exchange(false, true)[63]));
}

TEST_CASE("loads of rows that lie alike are counted as conflicts of banks") {
    auto& conflicts = switchyard::emulation::statistics().bank_conflicts;
    const auto load = [](unsigned char* shared, int row_bytes) {
        std::uint32_t r[4];
        device::load_matrices(r, shared + row_bytes * device::lane());
    };
    conflicts = 0;
    run([&](unsigned char* shared) { load(shared, 16); });
    CHECK(conflicts == 0);
    run([&](unsigned char* shared) { load(shared, 128); });
    CHECK(conflicts == 2 * 4 * 7);
}
