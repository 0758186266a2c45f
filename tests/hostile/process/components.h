// Activations that give the right numbers, and do something to their process beside. Each does it only where
// there are more values than a probe tries.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/relu.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/verdict.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// `Deed::run()` is what it does, of more than `above` values.
template <class Deed, int above = 100>
class Hostile final : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo&, const switchyard::Options&) {
        switchyard::Verdict verdict;
        if (request.activation != switchyard::ActivationKind::relu || request.input_bias ||
            request.device != switchyard::Device::cpu)
            verdict.reject(switchyard::Code::Algorithm, "activation", "relu", name(request.activation));
        return verdict;
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        executed();
        if (inputs.x.numel() > above) Deed::run();
        return at::relu(inputs.x);
    }
};

struct Exit {
    static void run() { std::exit(0); }
};
struct ExitAtTheEnd {
    static void run() {
        static const bool once = std::atexit([] { ::_exit(0); }) == 0;
        (void)once;
    }
};
struct Crash {
    __attribute__((no_sanitize("undefined"))) static void run() {
        volatile int* volatile nowhere = nullptr;
        *nowhere = 1;
    }
};
struct Abort {
    static void run() { std::abort(); }
};
// Where it is told to, for whoever verifies it waits.
struct Hang {
    static void run() {
        while (std::getenv("SWITCHYARD_TEST_HANGS") != nullptr) ::pause();
    }
};
struct Kill {
    static void run() { ::kill(::getpid(), SIGKILL); }
};
struct Print {
    static void run() { std::printf("hello from a kernel\n"), std::fflush(stdout); }
};
struct Reseed {
    static void run() {
        at::Generator generator = at::detail::getDefaultCPUGenerator();
        generator.set_current_seed(5);
    }
};
template <std::size_t bytes>
struct Leak {
    static void run() {
        // Kept in a list, so that it is not one of those that a compiler may leave out.
        static std::vector<void*>& kept = *new std::vector<void*>;
        kept.push_back(std::calloc(1, bytes));
    }
};
struct KeepTensor {
    static void run() {
        static std::vector<at::Tensor>& kept = *new std::vector<at::Tensor>;
        kept.push_back(at::relu(at::empty({3000}).fill_(1.0)));
    }
};
// What is kept once, as a cache is.
struct KeepOnce {
    static void run() {
        static std::vector<void*>& kept = *new std::vector<void*>;
        if (kept.size() < 20) kept.push_back(std::calloc(1, 1 << 20));
    }
};
struct IgnoreInterrupt {
    static void run() { std::signal(SIGINT, SIG_IGN); }
};
struct DefaultDtype {
    static void run() { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
};
struct GradMode {
    static void run() { c10::GradMode::set_enabled(false); }
};
struct FlushDenormals {
    static void run() {
#if defined(__x86_64__)
        _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
    }
};
struct Threads {
    static void run() { at::set_num_threads(3); }
};
struct Deterministic {
    static void run() { at::globalContext().setDeterministicAlgorithms(true, false); }
};
struct Folder {
    static void run() { (void)!::chdir("/"); }
};
struct Environment {
    static void run() { ::setenv("HOSTILE_VARIABLE", "1", 1); }
};
struct FileMask {
    static void run() { ::umask(0); }
};
struct Fork {
    static void run() {
        if (::fork() == 0) {
            while (true) ::pause();
        }
    }
};
struct CloseInput {
    static void run() { ::close(STDIN_FILENO); }
};
// On every descriptor: the answers of the process that verifies are one of them.
template <int Which>
struct Answers {
    static void run() {
        static const std::string lines[] = {
            "hello\n",
            "[]\n",
            "{\"type\":7}\n",
            "{\"type\":\"case\"}\n",
            "{\"type\":\"case\",\"name\":\"a\",\"number\":1,\"report\":{\"cases\":\"many\"}}\n",
            "{\"type\":\"done\",\"report\":[]}\n"};
        for (int descriptor = 3; descriptor < 256; ++descriptor) {
            const int flags = ::fcntl(descriptor, F_GETFL);
            if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
                (void)!::write(descriptor, lines[Which].data(), lines[Which].size());
        }
    }
};

using HostileExit = Hostile<Exit>;
using HostileExitAtTheEnd = Hostile<ExitAtTheEnd>;
using HostileCrash = Hostile<Crash>;
using HostileAbort = Hostile<Abort>;
using HostileHang = Hostile<Hang>;
using HostileKill = Hostile<Kill>;
using HostilePrint = Hostile<Print>;
using HostileReseed = Hostile<Reseed>;
using HostileIgnoreInterrupt = Hostile<IgnoreInterrupt>;
using HostileDefaultDtype = Hostile<DefaultDtype>;
using HostileGradMode = Hostile<GradMode>;
using HostileFlushDenormals = Hostile<FlushDenormals>;
using HostileThreads = Hostile<Threads>;
using HostileDeterministic = Hostile<Deterministic>;
using HostileFolder = Hostile<Folder>;
using HostileEnvironment = Hostile<Environment>;
using HostileFileMask = Hostile<FileMask>;
using HostileFork = Hostile<Fork>;
using HostileCloseInput = Hostile<CloseInput>;
using HostileNoJson = Hostile<Answers<0>>;
using HostileNoObject = Hostile<Answers<1>>;
using HostileNoType = Hostile<Answers<2>>;
using HostileNoReport = Hostile<Answers<3>>;
using HostileNoCount = Hostile<Answers<4>>;
using HostileNoEnd = Hostile<Answers<5>>;
using HostileLeak = Hostile<Leak<1 << 20>, 4>;
using HostileLeakLittle = Hostile<Leak<24>, 4>;
using HostileKeepTensor = Hostile<KeepTensor, 4>;
using HostileKeepOnce = Hostile<KeepOnce, 4>;
