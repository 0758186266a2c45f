// Event files, read back by a reader of the record format written for this test alone; its CRC-32C is
// bitwise, and checked against the known answer of RFC 3720, appendix B.4.
#include "core/workbench/train/tensorboard.h"

#include <cstring>
#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::uint32_t crc32c(const std::string& bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    return ~crc;
}

std::uint32_t masked(const std::string& bytes) {
    const auto crc = crc32c(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::vector<std::string> records(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> found;
    std::size_t at = 0;
    while (at < all.size()) {
        std::uint64_t length = 0;
        std::uint32_t crc = 0;
        std::memcpy(&length, all.data() + at, 8);
        std::memcpy(&crc, all.data() + at + 8, 4);
        CHECK(crc == masked(all.substr(at, 8)));
        found.push_back(all.substr(at + 12, length));
        std::memcpy(&crc, all.data() + at + 12 + length, 4);
        CHECK(crc == masked(found.back()));
        at += 16 + length;
    }
    return found;
}

}  // namespace

TEST_CASE("event files hold the version, then scalars with step and tag") {
    CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);  // RFC 3720
    train::TensorBoardWriter writer(test::temporary_dir("board").string(), 1700000000.5);
    writer.scalars(1700000001.0, 300, {{"train/loss", 0.25}, {"lr", 1.0}});
    writer.flush();
    const auto all = records(writer.path());
    REQUIRE(all.size() == 2);
    CHECK_THAT(all[0], test::contains("brain.Event:2"));
    double time = 0.0;
    std::memcpy(&time, all[0].data() + 1, 8);
    CHECK(time == 1700000000.5);
    // field 2 (step) as a varint: 300 = 0xAC 0x02; then field 5 with two values
    const std::string loss("\x0a\x0atrain/loss\x15\x00\x00\x80\x3e", 17);
    const std::string lr("\x0a\x02lr\x15\x00\x00\x80\x3f", 9);
    const std::string expected = std::string("\x10\xac\x02\x2a") + static_cast<char>(2 + 17 + 2 + 9) +
                                 "\x0a\x11" + loss + "\x0a\x09" + lr;
    CHECK(all[1].substr(9) == expected);
    CHECK_THAT(writer.path(), test::contains("events.out.tfevents.1700000000."));
}

TEST_CASE("a session that starts voids what is there of its first step and of later ones") {
    train::TensorBoardWriter writer(test::temporary_dir("board").string(), 1700000000.5);
    writer.starts(1700000001.0, 300);
    writer.flush();
    const auto all = records(writer.path());
    REQUIRE(all.size() == 2);
    // field 2 (step): 300; then field 7 (session_log) with field 1 (status): 1 (START)
    CHECK(all[1].substr(9) == "\x10\xac\x02\x3a\x02\x08\x01");
}

TEST_CASE("a folder that is not there is an error") {
    CHECK_THROWS_WITH(train::TensorBoardWriter("/nowhere/x", 0.0),
                      test::contains("cannot write /nowhere/x/events.out"));
}
