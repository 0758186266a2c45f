// Programs in processes of their own, started by their words, without a shell. Each leads a process group,
// unless it is said otherwise, so that whatever it starts can be killed with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace switchyard::base {

// Both ends are closed on exec, and with it.
struct Pipe {
    enum class Of : std::uint8_t { bytes, messages };  // messages: what is sent at once is received at once

    std::array<int, 2> ends{-1, -1};  // to read, to write; -1: it could not be made
    Pipe() : Pipe(Of::bytes, 0) {}
    // `least`: of both descriptors, where some below it are those of another program.
    Pipe(Of of, int least);
    ~Pipe();
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    bool open() const { return ends[0] >= 0 && ends[1] >= 0; }
    int take(std::size_t end);
    void close(std::size_t end);
};

// Writes a number into a pipe, whose readers get it whole or not at all; nothing where `pipe` is below 0.
void tell(int pipe, long number);

struct Program {
    // The program, searched for in PATH unless it has a slash, and its arguments.
    std::vector<std::string> words;
    std::string folder;                         // its working directory; empty: this process's
    bool dies_with_us = true;                   // the kernel kills it when the thread that started it ends
    std::vector<std::string> environment = {};  // "NAME=VALUE", beside this process's or in place of it
    int keeps = -1;                             // a descriptor that it has beside its streams, and no other
    bool leads_group = true;                    // else it is in this process's group
    // A pipe that the new process writes its number into, a long, before the program runs, and the number's
    // negative where it cannot be run: whoever reads it knows of every process that has ever done anything.
    int tells = -1;
};

// "" if it can be run, else why not. A path is taken from `folder`; empty: the working directory.
std::string program_problem(const std::string& program, const std::string& folder = "");

// `streams` become its standard streams; signals are as in a new login. -1, with the reason in `error`, where
// it cannot be started.
pid_t start_program(const Program& program, const std::array<int, 3>& streams, std::string& error);

// How a process ended, "ended with exit code 3" or "was killed by signal 9 (Killed)", looked at for that
// long; nothing: it has not. It still has to be waited for.
struct Ending {
    bool well = false;  // with exit code 0
    std::string text;
};
std::optional<Ending> ending_within(pid_t process, double milliseconds);

// Waits for a process that has ended or is ending.
void reap(pid_t process);

}  // namespace switchyard::base
