#include <switchyard/config/guard_text.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace switchyard::config {
namespace {

// Follows strings, comments and brackets as TOML 1.0 has them. Where the text is no valid TOML, it agrees
// with the parser up to the parser's first error, which is all that a guard needs.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    bool done() const { return at_ >= text_.size(); }
    std::size_t at() const { return at_; }
    int depth() const { return depth_; }
    int dots() const { return dots_; }
    bool closed() const { return depth_ == 0 && quote_ == 0; }

    void step() {
        const char c = text_[at_];
        if (quote_ != 0) return step_in_string(c);
        if (c == '\n') dots_ = 0;
        if (c == '#') return skip_comment();
        if (c == '"' || c == '\'') return open_string(c);
        if (c == '.') ++dots_;
        if (c == '[' || c == '{') ++depth_;
        if ((c == ']' || c == '}') && depth_ > 0) --depth_;
        ++at_;
    }

private:
    bool three(char quote) const {
        return at_ + 2 < text_.size() && text_[at_ + 1] == quote && text_[at_ + 2] == quote &&
               text_[at_] == quote;
    }
    void open_string(char quote) {
        quote_ = quote;
        multiline_ = three(quote);
        at_ += multiline_ ? 3 : 1;
    }
    void step_in_string(char c) {
        if (quote_ == '"' && c == '\\') {
            at_ += 2;
        } else if (!multiline_ && (c == quote_ || c == '\n')) {
            quote_ = 0;  // a line's end closes it too: the parser stops there with an error
            at_ += c == '\n' ? 0 : 1;
        } else if (multiline_ && three(quote_)) {
            at_ += 3;
            for (int extra = 0; extra < 2 && at_ < text_.size() && text_[at_] == quote_; ++extra) ++at_;
            quote_ = 0;
        } else {
            ++at_;
        }
    }
    void skip_comment() {
        const auto end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int dots_ = 0;
    char quote_ = 0;
    bool multiline_ = false;
};

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), 0 if it is not one.
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
    };
    const std::uint8_t first = byte(at);
    if (first < 0x80) return 1;
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0) != 0x80) return 0;
    }
    const std::uint8_t second = byte(at + 1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second >= 0xa0;
    const bool too_large = first == 0xf4 && second >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

struct LineColumn {
    int line = 1;
    int column = 1;
};

LineColumn place_of(std::string_view text, std::size_t at) {
    LineColumn place;
    for (std::size_t i = 0; i < at && i < text.size(); ++i) {
        if (text[i] == '\n') {
            ++place.line;
            place.column = 1;
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
            ++place.column;
        }
    }
    return place;
}

std::string hex(char c) {
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

Problem unreadable(const std::string& path, const std::string& message, const std::string& expected = {}) {
    return {.file = path, .message = message, .expected = expected};
}

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

private:
    int fd_;
};

}  // namespace

std::vector<Problem> guard_text(std::string_view text, const std::string& file) {
    std::vector<Problem> problems;
    const auto report = [&](std::size_t at, const std::string& message, const std::string& expected) {
        const auto [line, column] = place_of(text, at);
        problems.push_back(
            {.file = file, .line = line, .column = column, .message = message, .expected = expected});
    };
    if (text.size() > max_bytes) {
        return {unreadable(file, "is " + std::to_string(text.size()) + " bytes long",
                           "at most " + std::to_string(max_bytes) + " bytes of TOML")};
    }
    if (const auto at = text.find('\0'); at != std::string_view::npos)
        report(at, "holds a NUL byte", "TOML text");
    for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
        length = utf8_length(text, at);
        if (length > 0) continue;
        report(at, "byte " + hex(text[at]) + " is not valid UTF-8", "TOML text in UTF-8");
        break;
    }
    bool deep = false;
    bool dotted = false;
    for (Scanner scanner(text); !scanner.done() && !(deep && dotted); scanner.step()) {
        if (!deep && scanner.depth() > max_nesting) {
            report(scanner.at() - 1, "brackets are nested too deeply",
                   "at most " + std::to_string(max_nesting) + " levels");
            deep = true;
        }
        if (!dotted && scanner.dots() > max_dots) {
            report(scanner.at() - 1, "there are too many dots in this line",
                   "at most " + std::to_string(max_dots));
            dotted = true;
        }
    }
    return problems;
}

bool closed_at_end(std::string_view text) {
    Scanner scanner(text);
    while (!scanner.done()) scanner.step();
    return scanner.closed();
}

std::string line_for_display(std::string_view text, int number) {
    constexpr std::size_t widest = 160;
    std::size_t begin = 0;
    for (int line = 1; line < number; ++line) {
        begin = text.find('\n', begin);
        if (begin == std::string_view::npos) return {};
        ++begin;
    }
    auto line = text.substr(begin, text.find('\n', begin) - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    for (const char c : line) {
        if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return {};
    }
    return line.size() > widest ? std::string{} : std::string(line);
}

FileText read_guarded(const std::string& path) {
    const auto failed = [&](int error) {
        return FileText{{}, {unreadable(path, "cannot be read: " + std::string(std::strerror(error)))}};
    };
    // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return failed(errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return failed(errno);
    if (S_ISDIR(info.st_mode)) return {{}, {unreadable(path, "is a folder", "a TOML file")}};
    if (!S_ISREG(info.st_mode)) return {{}, {unreadable(path, "is not a regular file", "a TOML file")}};
    if (info.st_size > static_cast<off_t>(max_bytes)) {
        return {{},
                {unreadable(path, "is " + std::to_string(info.st_size) + " bytes long",
                            "at most " + std::to_string(max_bytes) + " bytes of TOML")}};
    }
    std::string text(max_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed(errno);
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    auto problems = guard_text(text, path);
    return {std::move(text), std::move(problems)};
}

}  // namespace switchyard::config
