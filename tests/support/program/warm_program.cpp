#include "warm_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

// Commands that bin/switchyard hands to the program that waits. One that is not here is started as ever.
bool takes_libtorch(const std::vector<std::string>& words) {
    constexpr std::array commands{"bench",
                                  "compare",
                                  "config check",
                                  "data prepare",
                                  "data show",
                                  "data stats",
                                  "data train-tokenizer",
                                  "diagnose",
                                  "embed",
                                  "evaluate",
                                  "fit",
                                  "generate",
                                  "merge",
                                  "model",
                                  "plan",
                                  "plugins bisect",
                                  "plugins lock",
                                  "plugins verify",
                                  "precision",
                                  "predict",
                                  "profile",
                                  "quantize",
                                  "train",
                                  "tune"};
    const auto is_one = [&](const std::string& path) {
        return std::ranges::any_of(commands, [&](const char* command) { return path == command; });
    };
    const auto word = words.size() > 1 ? words[1] : "";
    const auto both = words.size() > 2 ? word + " " + words[2] : word;
    return is_one(both) || (is_one(word) && both != "compare self-test");
}

// What libraries read before main() does.
bool is_read_early(std::string_view entry) {
    constexpr std::array beginnings{"LD_",   "GLIBC_",  "MALLOC_",        "OMP_",  "GOMP_",
                                    "KMP_",  "MKL_",    "ATEN_",          "TORCH", "PYTORCH_",
                                    "DNNL_", "ONEDNN_", "SWITCHYARD_SPIN"};
    return std::ranges::any_of(beginnings, [&](const char* begin) { return entry.starts_with(begin); });
}

std::vector<std::string> read_early(const std::vector<std::string>& environment) {
    std::vector<std::string> found;
    for (const auto& entry : environment)
        if (is_read_early(entry)) found.push_back(entry);
    std::ranges::sort(found);
    return found;
}

// Until the end of the scope: what loses its parent becomes this process's child.
class Adopts {
public:
    Adopts() : adopts_(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) {}
    ~Adopts() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
    Adopts(const Adopts&) = delete;
    Adopts& operator=(const Adopts&) = delete;
    explicit operator bool() const { return adopts_; }

private:
    bool adopts_;
};

class WaitingProgram {
public:
    // With the environment that the first request has.
    explicit WaitingProgram(const std::vector<std::string>& environment) : early_(read_early(environment)) {
        const char* const library = std::getenv("SWITCHYARD_TEST_WARM");
        if (library == nullptr || *library == '\0') return;
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return;
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        const auto program = (build_dir() / "bin/switchyard").string();
        const auto number = std::to_string(ends[1]);
        const pid_t child = fork();
        if (child == 0) {
            setenv("LD_PRELOAD", library, 1);
            setenv(warm_socket_variable, number.c_str(), 1);
            const int nothing = open("/dev/null", O_RDWR);
            for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
            execl(program.c_str(), "switchyard", "train", nullptr);
            _exit(127);
        }
        close(ends[1]);
        if (child > 0)
            socket_ = ends[0];
        else
            close(ends[0]);
    }

    pid_t start(const WarmRequest& request, const std::array<int, warm_descriptors>& descriptors) {
        if (socket_ < 0 || read_early(request.environment) != early_) return -1;
        const auto packet = to_packet(request);
        if (packet.size() > longest_warm_request) return -1;
        const Adopts adopts;
        if (!adopts || !ask(packet, descriptors)) return -1;
        pid_t process = -1;
        ssize_t size = -1;
        while ((size = recv(socket_, &process, sizeof process, 0)) < 0 && errno == EINTR) {
        }
        if (size != sizeof process) return give_up();
        siginfo_t info{};
        const bool is_child =
            process > 0 && waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
        if (is_child) return process;
        if (process > 0) kill(process, SIGKILL);
        return give_up();
    }

private:
    bool ask(const std::string& packet, const std::array<int, warm_descriptors>& descriptors) const {
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
        iovec part{const_cast<char*>(packet.data()), packet.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        auto* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptors);
        std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
        return sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
    }

    pid_t give_up() {
        close(socket_);
        return socket_ = -1;
    }

    int socket_ = -1;  // below 0: there is none
    std::vector<std::string> early_;
};

}  // namespace

pid_t start_warm(const WarmRequest& request, const std::array<int, warm_descriptors>& descriptors) {
    if (!takes_libtorch(request.words)) return -1;
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    static WaitingProgram program(request.environment);
    return program.start(request, descriptors);
}

}  // namespace switchyard::test
