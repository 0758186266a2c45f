// What a test asks of a program that waits with LibTorch's start behind it (warm_program.h): to run as if
// it had been started so. One packet on a socket, with descriptors for input, output and errors beside it;
// the answer is the process as a pid_t.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace switchyard::test {

// In the waiting program's environment: the number of its socket.
inline constexpr const char* warm_socket_variable = "SWITCHYARD_TEST_WARM_SOCKET";

inline constexpr std::size_t warm_descriptors = 3;
inline constexpr std::size_t longest_warm_request = std::size_t{1} << 17;

// Of a new process, however it is started: signals do what they do by default, whatever they did before.
inline void reset_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
}

struct WarmRequest {
    std::string folder;     // it runs there
    bool terminal = false;  // its input, output and errors are the terminal of a session of its own
    std::vector<std::string> words, environment;
};

inline std::string to_packet(const WarmRequest& request) {
    std::string packet;
    const auto add = [&](const std::string& text) { packet.append(text).push_back('\0'); };
    add(request.folder);
    add(request.terminal ? "terminal" : "");
    add(std::to_string(request.words.size()));
    for (const auto& word : request.words) add(word);
    for (const auto& entry : request.environment) add(entry);
    return packet;
}

inline WarmRequest from_packet(const std::string& packet) {
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < packet.size();) {
        const auto end = packet.find('\0', begin);
        texts.push_back(packet.substr(begin, end - begin));
        begin = end + 1;
    }
    const auto words_begin = texts.begin() + 3;
    const auto words_end = words_begin + std::stol(texts.at(2));
    return {texts.at(0), !texts.at(1).empty(), {words_begin, words_end}, {words_end, texts.end()}};
}

}  // namespace switchyard::test
