// What all code of a process shares, and what no component may change: settings of LibTorch and of the
// processor, signals, the working directory, the environment, open standard streams. A generator that was
// seeded anew changes every dropout after it, a handler that was taken away makes Ctrl-C dead.
//
// On Linux.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::conformance {

class ProcessState {
public:
    // As it is now. `generator`: the numbers that LibTorch's generator of the CPU draws next count too; not
    // for components that draw from it by contract.
    static ProcessState now(bool generator);

    // What is different in `later`, each in words: "the number of threads was 1 and is 7".
    std::vector<std::string> changes(const ProcessState& later) const;

    // Puts back what can be, so that what comes next is judged by itself.
    void restore() const;

private:
    // One of the things, as text, and what it is called.
    struct Fact {
        std::string what, value;
    };

    std::vector<Fact> facts_;
    at::Tensor generator_;
    int threads_ = 0;
    std::int64_t printed_ = 0;  // bytes, where the standard output has a regular file of its own
    bool gradients_ = true;
    caffe2::TypeMeta dtype_;
    bool deterministic_ = false;
    std::vector<struct sigaction> handlers_;  // of the signals that are looked at
    mode_t file_mask_ = 0;
    std::string folder_, locale_;
    unsigned control_word_ = 0;  // of floating-point numbers
    std::vector<std::string> environment_;
};

}  // namespace switchyard::conformance
