// Reading ELF files: what stands in a real plugin, and that no damage to one does more than give an error. To
// add a kind of damage:
// one more line in "a damaged header".
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/manifest.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard::loader;
using namespace switchyard::test;

namespace {

// Everything that discovery does with the content of a file before anything of it runs.
void read_all_of(const std::string& path) {
    const ElfResult elf = read_elf(path, manifest_section);
    if (elf.image.section) (void)parse_manifest(*elf.image.section);
}

}  // namespace

TEST_CASE("a plugin's processor, build id and manifest are read from its file") {
    const ElfResult elf = read_elf(good_plugin(), manifest_section);
    REQUIRE(elf.error == ElfError::none);
    CHECK(elf.image.machine == elf_machine_x86_64);
    CHECK(elf.image.shared);
    REQUIRE(elf.image.section.has_value());
    CHECK(elf.image.section->substr(0, 8) == "SWYDMAN1");
    const ElfResult libc = read_elf("/lib/x86_64-linux-gnu/libc.so.6", manifest_section);
    REQUIRE(libc.error == ElfError::none);
    CHECK(libc.image.build_id.size() == 40);
    CHECK_FALSE(libc.image.section.has_value());
}

TEST_CASE("the manifest survives strip") {
    const std::string copy = temporary_dir("strip") / "libtest_good.so";
    write_file(copy, read_file(good_plugin()));
    REQUIRE(run("strip '" + copy + "'").exit_code == 0);
    REQUIRE(read_file(copy).size() < read_file(good_plugin()).size());
    CHECK(read_elf(copy, manifest_section).image.section ==
          read_elf(good_plugin(), manifest_section).image.section);
}

TEST_CASE("what is no ELF file of this kind is told apart") {
    const std::string file = temporary_dir("elf") / "x.so";
    const std::string good = read_file(good_plugin());
    write_file(file, "");
    CHECK(read_elf(file).message == "is empty");
    write_file(file, "#!/bin/sh\necho no library\n");
    CHECK(read_elf(file).error == ElfError::not_elf);
    CHECK(read_elf(file).message == "is no ELF file (a shared library begins with 0x7f 'ELF')");
    write_file(file, good.substr(0, 4) + '\x01' + good.substr(5));
    CHECK(read_elf(file).error == ElfError::other_class);
    write_file(file, good.substr(0, 5) + '\x02' + good.substr(6));
    CHECK(read_elf(file).message == "is a big-endian library");
    write_file(file, good.substr(0, 1000));
    CHECK(read_elf(file, manifest_section).error == ElfError::malformed);
    CHECK_THAT(read_elf(file, manifest_section).message,
               contains("is truncated or damaged: its section headers would end at byte"));
    CHECK(read_elf("/nonexistent.so").error == ElfError::unreadable);
    CHECK(read_elf("/").error != ElfError::none);
}

TEST_CASE("a damaged header gives an error") {
    const std::string file = temporary_dir("elf") / "x.so";
    const std::string good = read_file(good_plugin());
    const auto with = [&](std::size_t offset, const std::string& bytes) {
        write_file(file, std::string(good).replace(offset, bytes.size(), bytes));
        return read_elf(file, manifest_section).error;
    };
    const std::string all_ones(8, '\xff');
    CHECK(with(32, all_ones) == ElfError::malformed);               // e_phoff
    CHECK(with(40, all_ones) == ElfError::malformed);               // e_shoff
    CHECK(with(54, all_ones.substr(0, 2)) == ElfError::malformed);  // e_phentsize
    CHECK(with(56, all_ones.substr(0, 2)) == ElfError::malformed);  // e_phnum
    CHECK(with(58, all_ones.substr(0, 2)) == ElfError::malformed);  // e_shentsize
    CHECK(with(60, all_ones.substr(0, 2)) == ElfError::malformed);  // e_shnum
    CHECK(with(62, all_ones.substr(0, 2)) == ElfError::malformed);  // e_shstrndx
}

TEST_CASE("a plugin cut at any length is read without harm") {
    const std::string file = temporary_dir("cut") / "x.so";
    const std::string good = read_file(good_plugin());
    write_file(file, good);
    std::size_t refused = 0, tried = 0;
    for (std::size_t size = good.size(); size-- > 0;) {
        // In the tables at the beginning and at the end every length, between them every 61st.
        const bool in_tables = size < 8192 || good.size() - size < 8192;
        if (!in_tables && size % 61 != 0) continue;
        if (::truncate(file.c_str(), static_cast<off_t>(size)) != 0) FAIL("cannot truncate");
        refused += read_elf(file, manifest_section).error != ElfError::none ? 1 : 0;
        ++tried;
    }
    CHECK(tried > 8192);
    CHECK(refused == tried);  // the section headers stand at the end
}

TEST_CASE("a plugin with any bytes changed is read without harm") {
    const std::string file = temporary_dir("mutate") / "x.so";
    const std::string good = read_file(good_plugin());
    write_file(file, good);
    const int fd = ::open(file.c_str(), O_RDWR);
    REQUIRE(fd >= 0);
    // Where damage can do something: the header, the tables, notes and strings at the beginning, the
    // manifest, the section headers.
    const std::size_t manifest = good.find("SWYDMAN1");
    std::mt19937_64 random(20240229);
    const auto place = [&]() -> std::size_t {
        switch (random() % 4) {
            case 0:
                return random() % 4096;
            case 1:
                return manifest + random() % 2048;
            case 2:
                return good.size() - 1 - random() % 4096;
            default:
                return random() % good.size();
        }
    };
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::size_t> places(1 + random() % 4);
        for (std::size_t& at : places) {
            at = std::min(place(), good.size() - 1);
            static constexpr unsigned char extremes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
            const auto byte =
                random() % 2 == 0 ? extremes[random() % 5] : static_cast<unsigned char>(random());
            if (::pwrite(fd, &byte, 1, static_cast<off_t>(at)) != 1) FAIL("cannot write");
        }
        read_all_of(file);
        for (const std::size_t at : places) {
            if (::pwrite(fd, &good[at], 1, static_cast<off_t>(at)) != 1) FAIL("cannot write");
        }
    }
    ::close(fd);
    CHECK(read_file(file) == good);
}
