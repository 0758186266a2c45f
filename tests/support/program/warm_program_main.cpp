// Preloaded into the program (warm_program.h): instead of main() it waits for requests, and runs main() in
// a copy of the process for each.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "warm_request.h"

namespace {

using switchyard::test::WarmRequest;
using Main = int (*)(int, char**, char**);
using Descriptors = std::array<int, switchyard::test::warm_descriptors>;

Main real_main = nullptr;

bool is_the_program() {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
    return size > 0 &&
           std::string_view(path.data(), static_cast<std::size_t>(size)).ends_with("/switchyard-run");
}

// False: nobody asks any more.
bool next_request(int socket, std::string& packet, Descriptors& descriptors) {
    packet.assign(switchyard::test::longest_warm_request, '\0');
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
    iovec part{packet.data(), packet.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t size = -1;
    while ((size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const auto* const header = CMSG_FIRSTHDR(&message);
    if (size <= 0 || header == nullptr || header->cmsg_len != CMSG_LEN(sizeof descriptors)) return false;
    packet.resize(static_cast<std::size_t>(size));
    std::memcpy(descriptors.data(), CMSG_DATA(header), sizeof descriptors);
    return true;
}

// In the copy. What bin/switchyard sets for the program it has set for the one that waits.
void take_environment(const WarmRequest& request) {
    std::array<std::string, 2> set_by_front{"SWITCHYARD_SPIN", "GOMP_SPINCOUNT"};
    std::array<std::string, 2> values;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const char* const value = getenv(set_by_front[i].c_str());
        values[i] = value == nullptr ? "" : value;
    }
    clearenv();
    for (const auto& entry : request.environment) {
        const auto at = entry.find('=');
        if (at != std::string::npos) setenv(entry.substr(0, at).c_str(), entry.c_str() + at + 1, 1);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!values[i].empty()) setenv(set_by_front[i].c_str(), values[i].c_str(), 1);
}

[[noreturn]] void become(const WarmRequest& request, const Descriptors& descriptors) {
    switchyard::test::reset_signals();
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        dup2(descriptors[i], static_cast<int>(i));
        close(descriptors[i]);
    }
    if (request.terminal) {
        setsid();
        ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
    }
    if (chdir(request.folder.c_str()) != 0) _exit(127);
    take_environment(request);
    // Never freed: main() has them as long as the process is.
    auto** const words = new char*[request.words.size() + 1];
    for (std::size_t i = 0; i < request.words.size(); ++i) words[i] = strdup(request.words[i].c_str());
    words[request.words.size()] = nullptr;
    std::exit(real_main(static_cast<int>(request.words.size()), words, environ));
}

// A copy whose parent ends at once, so that it becomes the child of who asks (PR_SET_CHILD_SUBREAPER); -1:
// none.
pid_t run_in_copy(int socket, const WarmRequest& request, const Descriptors& descriptors) {
    std::array<int, 2> told{};
    if (pipe2(told.data(), O_CLOEXEC) != 0) return -1;
    const pid_t between = fork();
    if (between == 0) {
        const pid_t program = fork();
        if (program == 0) {
            for (const int own : {told[0], told[1], socket}) close(own);
            become(request, descriptors);
        }
        _exit(write(told[1], &program, sizeof program) == sizeof program ? 0 : 1);
    }
    close(told[1]);
    pid_t program = -1;
    if (between < 0 || read(told[0], &program, sizeof program) != sizeof program) program = -1;
    close(told[0]);
    while (between > 0 && waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
    return program;
}

int wait_for_requests(int, char**, char**) {
    const int socket = std::atoi(getenv(switchyard::test::warm_socket_variable));
    std::string packet;
    for (Descriptors descriptors{}; next_request(socket, packet, descriptors);) {
        const pid_t program = run_in_copy(socket, switchyard::test::from_packet(packet), descriptors);
        for (const int one : descriptors) close(one);
        if (send(socket, &program, sizeof program, MSG_NOSIGNAL) != sizeof program) break;
    }
    _exit(0);
}

}  // namespace

// glibc's, which calls main(): the constructors of all libraries have run.
extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int count, char** words,
                                                                        void (*init)(), void (*fini)(),
                                                                        void (*loader_fini)(),
                                                                        void* stack_end) {
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
    real_main = main;
    const bool waits = getenv(switchyard::test::warm_socket_variable) != nullptr && is_the_program();
    return start(waits ? wait_for_requests : main, count, words, init, fini, loader_fini, stack_end);
}
