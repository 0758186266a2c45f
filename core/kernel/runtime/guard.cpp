#include "core/kernel/runtime/guard.h"

#include <cstdlib>
#include <memory>
#include <new>

#include <c10/util/Exception.h>
#include <cxxabi.h>

#include "core/kernel/runtime/memory_error.h"
#include "core/kernel/runtime/thread_calls.h"

namespace switchyard::runtime {
namespace {

std::atomic<ThreadCalls*> thread_list{nullptr};
constinit thread_local ThreadCalls* this_thread = nullptr;

// Gives the entry back when the thread ends.
struct ThreadEnd {
    ThreadCalls* calls = nullptr;
    ~ThreadEnd() {
        this_thread = nullptr;
        release_signal_stack(*calls);
        calls->taken.store(false, std::memory_order_release);
    }
};

ThreadCalls* take_free_entry() noexcept {
    for (ThreadCalls* entry = all_thread_calls(); entry != nullptr; entry = entry->next) {
        bool taken = false;
        if (entry->taken.compare_exchange_strong(taken, true)) return entry;
    }
    return nullptr;
}

ThreadCalls* add_entry() {
    auto* const entry = new ThreadCalls;
    entry->next = thread_list.load();
    while (!thread_list.compare_exchange_weak(entry->next, entry)) {
    }
    return entry;
}

[[gnu::noinline]] ThreadCalls* register_thread() noexcept {
    static thread_local ThreadEnd end;
    ThreadCalls* entry = take_free_entry();
    if (entry == nullptr) entry = add_entry();
    end.calls = entry;
    this_thread = entry;
    provide_signal_stack(*entry);
    return entry;
}

std::string message_of(const CallSite& site, const std::string& text) {
    std::string message = "plugin '";
    message += site.plugin;
    message += "', component '";
    message += site.component;
    message += "', ";
    message += site.call;
    message += ": ";
    message += text;
    return message;
}

// "int" for what `throw 42` threw.
std::string name_of_current_exception() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "an unknown type";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
    return std::string("type '") + (text ? text.get() : type->name()) + "'";
}

}  // namespace

ThreadCalls* all_thread_calls() noexcept { return thread_list.load(std::memory_order_acquire); }

PluginError::PluginError(const CallSite& site, const std::string& message)
    : std::runtime_error(message_of(site, message)),
      plugin(site.plugin),
      component(site.component),
      call(site.call),
      text(message) {}

CallScope::CallScope(const CallSite& site) noexcept : site_(site) {
    ThreadCalls* const calls = this_thread != nullptr ? this_thread : register_thread();
    outer_ = calls->innermost.load(std::memory_order_relaxed);
    calls->innermost.store(this, std::memory_order_release);
}

CallScope::~CallScope() noexcept {
    if (this_thread != nullptr) this_thread->innermost.store(outer_, std::memory_order_release);
}

const CallScope* current_call() noexcept {
    return this_thread == nullptr ? nullptr : this_thread->innermost.load(std::memory_order_relaxed);
}

void rethrow_as_plugin_error(const CallSite& site) {
    try {
        throw;
    } catch (const PluginError&) {
        throw;
    } catch (const abi::__forced_unwind&) {
        throw;  // a thread that is being cancelled
    } catch (const c10::OutOfMemoryError& error) {
        throw PluginMemoryError(site, error.what_without_backtrace());
    } catch (const c10::Error& error) {
        throw PluginError(site, error.what_without_backtrace());
    } catch (const std::bad_alloc& error) {
        throw PluginMemoryError(site, error.what());
    } catch (const std::exception& error) {
        throw PluginError(site, error.what());
    } catch (const char* text) {
        throw PluginError(site, text == nullptr ? "threw a null pointer" : text);
    } catch (const std::string& text) {
        throw PluginError(site, text);
    } catch (int number) {
        throw PluginError(site, "threw the int " + std::to_string(number));
    } catch (...) {
        throw PluginError(site, "threw a value of " + name_of_current_exception());
    }
}

}  // namespace switchyard::runtime
