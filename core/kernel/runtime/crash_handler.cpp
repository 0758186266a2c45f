// Everything that runs inside the handler is async-signal-safe: it reads, calls write(2), and builds its line
// in a buffer on its own stack.
#include "core/kernel/runtime/crash_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "core/kernel/runtime/thread_calls.h"

namespace switchyard::runtime {
namespace {

constexpr std::size_t signal_stack_bytes = 64 * 1024;

struct Signal {
    int number;
    const char* text;
};
constexpr std::array<Signal, 5> signals{{{SIGSEGV, "SIGSEGV (invalid memory access)"},
                                         {SIGBUS, "SIGBUS (memory that cannot be read or written)"},
                                         {SIGFPE, "SIGFPE (integer division by zero or overflow)"},
                                         {SIGILL, "SIGILL (an instruction that this CPU does not have)"},
                                         {SIGABRT, "SIGABRT (abort)"}}};

std::atomic<bool> installed{false};
std::atomic<bool> told{false};
std::array<struct sigaction, signals.size()> previous;

class Line {
public:
    // What is no plain ASCII could steer a terminal; nothing here may write it out as base::printable does.
    void add(const char* text) noexcept {
        for (; text != nullptr && *text != '\0' && size_ < buffer_.size() - 1; ++text)
            buffer_[size_++] = *text >= ' ' && *text <= '~' ? *text : '?';
    }
    void add(const CallSite& site) noexcept {
        add("plugin '");
        add(site.plugin);
        add("', component '");
        add(site.component);
        add("', ");
        add(site.call);
    }
    void write_out() noexcept {
        buffer_[size_++] = '\n';
        for (std::size_t done = 0; done < size_;) {
            const ssize_t count = ::write(STDERR_FILENO, buffer_.data() + done, size_ - done);
            if (count <= 0) return;
            done += static_cast<std::size_t>(count);
        }
    }

private:
    std::array<char, 2048> buffer_;
    std::size_t size_ = 0;
};

void add_other_threads(Line& line) noexcept {
    bool any = false;
    for (const ThreadCalls* calls = all_thread_calls(); calls != nullptr; calls = calls->next) {
        const CallScope* const call = calls->innermost.load(std::memory_order_acquire);
        if (call == nullptr) continue;
        line.add(any ? "; " : " on a thread of its own while this ran: ");
        line.add(call->site());
        any = true;
    }
    if (!any) line.add(" outside of any plugin");
}

void tell(const Signal& signal) noexcept {
    if (told.exchange(true)) return;
    Line line;
    line.add("switchyard: crashed with ");
    line.add(signal.text);
    if (const CallScope* call = current_call()) {
        line.add(" in ");
        line.add(call->site());
        for (call = call->outer(); call != nullptr; call = call->outer()) {
            line.add(", called from ");
            line.add(call->site());
        }
    } else {
        add_other_threads(line);
    }
    line.write_out();
}

// exit() runs this when destructors of the thread that called it have run: its calls still stand in the list.
void refuse_exit_within_a_call() noexcept {
    for (const ThreadCalls* calls = all_thread_calls(); calls != nullptr; calls = calls->next) {
        const CallScope* const call = calls->innermost.load(std::memory_order_acquire);
        if (call == nullptr) continue;
        Line line;
        line.add("switchyard: ended by exit() in ");
        line.add(call->site());
        line.add(": the program is not for a plugin to end");
        line.write_out();
        ::_exit(1);
    }
}

void handle(int number, siginfo_t* info, void*) noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
        if (signals[i].number != number) continue;
        tell(signals[i]);
        sigaction(number, &previous[i], nullptr);
    }
    // A fault happens again when the handler returns, now for the earlier handler; one that was sent has to
    // be sent again.
    if (info == nullptr || info->si_code <= 0) raise(number);
}

}  // namespace

void provide_signal_stack(ThreadCalls& calls) noexcept {
    stack_t present{};
    if (!installed.load() || sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0)
        return;
    void* const memory =
        mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = signal_stack_bytes;
    if (sigaltstack(&stack, nullptr) == 0) {
        calls.signal_stack = memory;
    } else {
        munmap(memory, signal_stack_bytes);
    }
}

void release_signal_stack(ThreadCalls& calls) noexcept {
    if (calls.signal_stack == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, nullptr) == 0) munmap(calls.signal_stack, signal_stack_bytes);
    calls.signal_stack = nullptr;
}

void install_crash_handler() {
    if (installed.exchange(true)) return;
    { const CallScope register_this_thread({}); }
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i].number, &action, &previous[i]);
    std::atexit(refuse_exit_within_a_call);
}

}  // namespace switchyard::runtime
