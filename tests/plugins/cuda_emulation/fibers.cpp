// Contexts are made by makecontext, but switched by _setjmp and _longjmp, which make no system call: a kernel
// of the tests switches a million times.
// glibc's checked longjmp refuses to change stacks, hence the first line.
#undef _FORTIFY_SOURCE
#include "fibers.h"

#include <csetjmp>
#include <memory>
#include <string>
#include <vector>

#include <ucontext.h>

namespace switchyard::emulation {
namespace {

constexpr std::size_t stack_bytes = 128 * 1024;

enum class State { ready, at_barrier, finished };

struct Fiber {
    jmp_buf place = {};
    ucontext_t first = {};
    std::unique_ptr<char[]> stack;
    State state = State::finished;
};

struct World {
    std::vector<std::unique_ptr<Fiber>> fibers;  // kept from block to block
    jmp_buf scheduler = {};
    ucontext_t starter = {};
    const std::function<void()>* body = nullptr;
    int current = -1;
    std::size_t progress = 0;
    std::string violation;
};

World& world() {
    static World one;
    return one;
}

void leave_turn() {
    World& w = world();
    if (_setjmp(w.fibers[w.current]->place) == 0) _longjmp(w.scheduler, 1);
}

// A fiber's whole life: block after block. Its first stop is where it was started.
void live() {
    World& w = world();
    const int own = w.current;
    Fiber& self = *w.fibers[own];
    if (_setjmp(self.place) == 0) swapcontext(&self.first, &w.starter);
    for (;;) {
        try {
            (*world().body)();
        } catch (const std::exception& error) {
            if (world().violation.empty())
                world().violation = "thread " + std::to_string(own) + ": " + error.what();
        }
        self.state = State::finished;
        made_progress();
        leave_turn();
    }
}

void make_fibers(int count) {
    World& w = world();
    while (static_cast<int>(w.fibers.size()) < count) {
        auto fiber = std::make_unique<Fiber>();
        fiber->stack = std::make_unique<char[]>(stack_bytes);
        getcontext(&fiber->first);
        fiber->first.uc_stack.ss_sp = fiber->stack.get();
        fiber->first.uc_stack.ss_size = stack_bytes;
        fiber->first.uc_link = nullptr;
        w.fibers.push_back(std::move(fiber));
        w.current = static_cast<int>(w.fibers.size()) - 1;
        makecontext(&w.fibers.back()->first, &live, 0);
        ucontext_t start = w.fibers.back()->first;
        swapcontext(&w.starter, &start);
    }
}

void take_turn(int thread) {
    World& w = world();
    w.current = thread;
    if (_setjmp(w.scheduler) == 0) _longjmp(w.fibers[thread]->place, 1);
}

// Until no lane can go on: all are at the barrier or done.
void run_warp(int first) {
    World& w = world();
    for (;;) {
        const std::size_t before = w.progress;
        bool waiting = false;
        for (int thread = first; thread < first + 32; ++thread) {
            if (w.fibers[thread]->state != State::ready) continue;
            take_turn(thread);
            if (!w.violation.empty()) return;
            waiting = waiting || w.fibers[thread]->state == State::ready;
        }
        if (!waiting) return;
        if (w.progress == before) {
            w.violation = "lanes of warp " + std::to_string(first / 32) +
                          " wait for lanes that are elsewhere: at a barrier of the block, or done";
            return;
        }
    }
}

// Lets all through once all have come. False: the block is done.
bool open_barrier(int threads) {
    World& w = world();
    int waiting = 0;
    for (int i = 0; i < threads; ++i) waiting += w.fibers[i]->state == State::at_barrier ? 1 : 0;
    if (waiting == 0) return false;
    if (waiting < threads) {
        w.violation = std::to_string(threads - waiting) + " threads of a block have ended, " +
                      std::to_string(waiting) + " wait at its barrier";
        return false;
    }
    for (int i = 0; i < threads; ++i) w.fibers[i]->state = State::ready;
    return true;
}

}  // namespace

void run_threads(const BlockShape& shape, const std::function<void()>& body) {
    World& w = world();
    make_fibers(shape.threads);
    w.body = &body;
    w.violation.clear();
    for (int i = 0; i < shape.threads; ++i) w.fibers[i]->state = State::ready;
    const int warps = shape.threads / 32;
    do {
        for (int i = 0; i < warps && w.violation.empty(); ++i)
            run_warp(32 * (shape.last_warp_first ? warps - 1 - i : i));
    } while (w.violation.empty() && open_barrier(shape.threads));
    w.current = -1;
    if (w.violation.empty()) return;
    w.fibers.clear();  // those in the middle of their work are dropped where they stand
    throw Violation(w.violation);
}

int current_thread() { return world().current; }

void wait_for_block() {
    World& w = world();
    w.fibers[w.current]->state = State::at_barrier;
    made_progress();
    leave_turn();
}

void give_way() { leave_turn(); }
void made_progress() { ++world().progress; }
void violate(const char* what) { throw Violation(what); }

}  // namespace switchyard::emulation
