#include "core/kernel/base/terminal.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <streambuf>
#include <utility>
#include <vector>

#include "core/kernel/base/printable.h"
#include "core/kernel/base/standard_descriptors.h"

namespace switchyard::base {
namespace {

constexpr std::size_t most_held = 4096;

bool shows_color(int descriptor) {
    const char* const never = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    if (never != nullptr && *never != '\0') return false;
    return ::isatty(descriptor) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

// How many bytes at the end of a text may be the beginning of a character whose rest is not there yet.
std::size_t begun_character(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if (byte < 0x80) return 0;
        if (byte < 0xc0) continue;
        const std::size_t bytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        return bytes > back ? back : 0;
    }
    return 0;
}

// Holds the line that was begun until the stream is flushed, so that characters that come in pieces are whole
// when they are looked at. Any thread may write, as to the standard streams themselves.
class GuardedBuffer final : public std::streambuf {
public:
    GuardedBuffer(std::streambuf* target, int descriptor)
        : target_(target),
          descriptor_(descriptor),
          terminal_(::isatty(descriptor) == 1),
          colors_(shows_color(descriptor)) {}

    bool terminal() const { return terminal_; }
    void disable_color() { colors_ = false; }
    void drop_what_nobody_takes() { waits_ = false; }

    // Bytes of our own, or data that are wanted as they are.
    bool put_raw(std::string_view bytes) {
        const std::lock_guard lock(mutex_);
        return give(held_.size()) && put(bytes);
    }

    void set_color(Color color) {
        constexpr std::array codes{"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};
        if (colors_) put_raw(codes.at(static_cast<std::size_t>(color)));
    }

protected:
    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char byte = traits_type::to_char_type(c);
        return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
    }

    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        const std::lock_guard lock(mutex_);
        held_.append(bytes, static_cast<std::size_t>(count));
        // Whole lines go on at once: they keep their order with what is printed past this stream.
        const auto newline = held_.rfind('\n');
        if (newline != std::string::npos && !give(newline + 1)) return 0;
        const bool well = held_.size() < most_held || give(held_.size() - begun_character(held_));
        return well ? count : 0;
    }

    int sync() override {
        const std::lock_guard lock(mutex_);
        return give(held_.size()) && target_->pubsync() == 0 ? 0 : -1;
    }

private:
    bool put(std::string_view bytes) {
        if (!waits_) return put_at_once(bytes);
        const auto count = static_cast<std::streamsize>(bytes.size());
        return target_->sputn(bytes.data(), count) == count;
    }

    // A pipe that can be written to at all takes PIPE_BUF bytes without waiting (pipe(7)).
    bool put_at_once(std::string_view bytes) {
        while (!bytes.empty()) {
            pollfd ready{descriptor_, POLLOUT, 0};
            if (::poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT) break;
            const auto count = std::min<std::size_t>(bytes.size(), PIPE_BUF);
            if (target_->sputn(bytes.data(), static_cast<std::streamsize>(count)) < 0) break;
            bytes.remove_prefix(count);
        }
        return true;
    }

    bool give(std::size_t count) {
        const auto text = printable_lines(std::string_view(held_).substr(0, count));
        held_.erase(0, count);
        return put(text);
    }

    std::mutex mutex_;
    std::streambuf* target_;
    std::string held_;
    int descriptor_;
    bool terminal_, colors_;
    bool waits_ = true;
};

GuardedBuffer* guarded(std::ostream& stream) { return dynamic_cast<GuardedBuffer*>(stream.rdbuf()); }

// Never destroyed: streams are flushed, and plugins may print, while the process ends.
void guard(std::ostream& stream, int descriptor) {
    static auto& all = *new std::vector<std::unique_ptr<GuardedBuffer>>;
    if (guarded(stream) != nullptr) return;
    all.push_back(std::make_unique<GuardedBuffer>(stream.rdbuf(), descriptor));
    stream.rdbuf(all.back().get());
}

}  // namespace

void guard_terminal() {
    open_standard_descriptors();
    guard(std::cout, STDOUT_FILENO);
    guard(std::cerr, STDERR_FILENO);
    guard(std::clog, STDERR_FILENO);
}

void drop_what_nobody_takes() {
    for (std::ostream* stream : {&std::cerr, &std::clog}) {
        if (auto* const buffer = guarded(*stream)) buffer->drop_what_nobody_takes();
    }
}

void disable_color() {
    for (std::ostream* stream : {&std::cout, &std::cerr, &std::clog}) {
        if (auto* const buffer = guarded(*stream)) buffer->disable_color();
    }
}

Text::Text(std::string text) {
    if (!text.empty()) parts_.push_back({Color::none, std::move(text)});
}

Text::Text(const char* text) : Text(std::string(text)) {}

Text& Text::operator+=(const Text& more) {
    parts_.insert(parts_.end(), more.parts_.begin(), more.parts_.end());
    return *this;
}

std::size_t Text::columns() const {
    std::size_t columns = 0;
    for (const Part& part : parts_) columns += columns_of(part.text);
    return columns;
}

std::string Text::plain() const {
    std::string text;
    for (const Part& part : parts_) text += part.text;
    return text;
}

Text Text::on_one_line() const {
    Text line = *this;
    for (Part& part : line.parts_) part.text = printable(part.text);
    return line;
}

Text paint(Color color, std::string text) {
    Text painted(std::move(text));
    for (auto& part : painted.parts_) part.color = color;
    return painted;
}

std::ostream& operator<<(std::ostream& stream, const Text& text) {
    auto* const buffer = guarded(stream);
    for (const auto& part : text.parts_) {
        const bool painted = buffer != nullptr && part.color != Color::none;
        if (painted) buffer->set_color(part.color);
        stream << part.text;
        if (painted) buffer->set_color(Color::none);
    }
    return stream;
}

std::ostream& over_line(std::ostream& stream) {
    auto* const buffer = guarded(stream);
    if (buffer != nullptr && buffer->terminal()) buffer->put_raw("\r\033[K");
    return stream;
}

void print_data(std::string_view data) {
    auto* const buffer = guarded(std::cout);
    if (buffer == nullptr || buffer->terminal())
        std::cout << data;
    else if (!buffer->put_raw(data))
        std::cout.setstate(std::ios_base::badbit);
}

}  // namespace switchyard::base
