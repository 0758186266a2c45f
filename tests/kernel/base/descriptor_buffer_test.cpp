// Reading from a pipe, whatever is put into it at once.
#include "core/kernel/base/descriptor_buffer.h"

#include <array>
#include <istream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

class BytePipe {
public:
    BytePipe() { REQUIRE(::pipe(ends_.data()) == 0); }
    ~BytePipe() {
        close_input();
        ::close(ends_[0]);
    }
    int output() const { return ends_[0]; }
    void write(const std::string& text) const {
        REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    void close_input() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }

private:
    std::array<int, 2> ends_{};
};

}  // namespace

TEST_CASE("four bytes that came one by one can be put back, and the end as well") {
    BytePipe pipe;
    base::DescriptorBuffer buffer(pipe.output());
    std::string read;
    for (const char c : {'a', 'b', 'c', 'd', 'e'}) {
        pipe.write({c});
        read += static_cast<char>(buffer.sbumpc());
    }
    CHECK(read == "abcde");
    pipe.close_input();
    CHECK(buffer.sgetc() == EOF);
    for (const char c : {'e', 'd', 'c', 'b'}) CHECK(buffer.sungetc() == c);
    CHECK(buffer.sungetc() == EOF);
    std::string rest(10, '\0');
    rest.resize(static_cast<std::size_t>(buffer.sgetn(rest.data(), 10)));
    CHECK(rest == "bcde");
}

TEST_CASE("what is interrupted waits for nothing more and has what came before") {
    BytePipe pipe;
    int looks = 0;
    base::DescriptorBuffer buffer(pipe.output(), [&] { return ++looks > 3; });
    pipe.write("ab");
    CHECK(buffer.sbumpc() == 'a');
    CHECK(buffer.sbumpc() == 'b');
    CHECK(looks == 1);
    CHECK(buffer.sgetc() == EOF);
    CHECK(looks == 4);
    pipe.write("c");
    CHECK(buffer.sgetc() == EOF);
}

TEST_CASE("all bytes of a file come, in order, and what is no file to read is an error") {
    std::string text;
    for (int i = 0; i < 40000; ++i) text += std::to_string(i) + "\n";
    char name[] = "/tmp/descriptor_buffer_XXXXXX";
    const int file = ::mkstemp(name);
    REQUIRE(file >= 0);
    REQUIRE(::unlink(name) == 0);
    REQUIRE(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    REQUIRE(::lseek(file, 0, SEEK_SET) == 0);
    base::DescriptorBuffer buffer(file);
    CHECK(std::string(std::istreambuf_iterator<char>(&buffer), {}) == text);
    ::close(file);
    base::DescriptorBuffer closed(file);
    CHECK_THROWS_AS(closed.sgetc(), std::ios_base::failure);
}
