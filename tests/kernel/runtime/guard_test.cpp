// The guard: what comes out for each kind of thing a plugin can throw. To add a kind: one more row.
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>

#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/memory_error.h"

#include <switchyard_test.h>

using namespace switchyard::runtime;

namespace {

struct Strange {};
const CallSite guarded_site{"acme", "quick", "attention.forward"};

}  // namespace

TEST_CASE("whatever is thrown becomes a PluginError that says who, where and what") {
    const std::vector<std::pair<std::function<void()>, std::string>> rows{
        {[] { throw std::runtime_error("no such tile"); }, "no such tile"},
        {[] { throw std::bad_alloc(); }, "std::bad_alloc"},
        {[] { throw 42; }, "threw the int 42"},
        {[] { throw "a literal"; }, "a literal"},
        {[] { throw std::string("a string"); }, "a string"},
        {[] { throw static_cast<const char*>(nullptr); }, "threw a null pointer"},
        {[] { throw Strange(); }, "threw a value of type '(anonymous namespace)::Strange'"},
        {[] { throw 1.5F; }, "threw a value of type 'float'"},
    };
    for (const auto& [thrower, text] : rows) {
        try {
            guarded(guarded_site, thrower);
            FAIL("did not throw");
        } catch (const PluginError& error) {
            CHECK(error.plugin == "acme");
            CHECK(error.component == "quick");
            CHECK(error.call == "attention.forward");
            CHECK(error.text == text);
            CHECK(std::string(error.what()) ==
                  "plugin 'acme', component 'quick', attention.forward: " + text);
        }
        CHECK(current_call() == nullptr);
    }
}

TEST_CASE("LibTorch's errors are told without their stack trace") {
    try {
        guarded(guarded_site, [] { TORCH_CHECK(false, "sizes ", 3, " and ", 4, " differ"); });
        FAIL("did not throw");
    } catch (const PluginError& error) {
        CHECK(error.text == "sizes 3 and 4 differ");
    }
}

TEST_CASE("a lack of memory is told from what else a plugin throws") {
    const auto lacks_memory = [](const std::function<void()>& thrower) {
        try {
            guarded(guarded_site, thrower);
        } catch (const PluginMemoryError& error) {
            return error.text;
        } catch (const PluginError&) {
            return std::string("no");
        }
        return std::string("nothing was thrown");
    };
    CHECK(lacks_memory([] { throw std::bad_alloc(); }) == "std::bad_alloc");
    CHECK(lacks_memory([] { C10_THROW_ERROR(OutOfMemoryError, "8 bytes too few"); }) == "8 bytes too few");
    CHECK(lacks_memory([] { TORCH_CHECK(false, "out of order"); }) == "no");
    CHECK(lacks_memory([] { throw 1; }) == "no");
}

TEST_CASE("an error that has crossed a guard keeps its first name") {
    const CallSite outer{"outer", "o", "loss.backward"};
    try {
        guarded(outer, [] { guarded(guarded_site, [] { throw 1; }); });
        FAIL("did not throw");
    } catch (const PluginError& error) {
        CHECK(error.plugin == "acme");
    }
}

TEST_CASE("results pass through, references as references") {
    int value = 3;
    CHECK(guarded(guarded_site, [&] { return value + 1; }) == 4);
    int& same = guarded(guarded_site, [&]() -> int& { return value; });
    CHECK(&same == &value);
}

TEST_CASE("calls in progress are listed by thread, innermost first") {
    const CallSite inner{"b", "y", "optimizer.step"};
    guarded(guarded_site, [&] {
        REQUIRE(current_call() != nullptr);
        CHECK(current_call()->site().plugin == std::string("acme"));
        guarded(inner, [&] {
            CHECK(current_call()->site().plugin == std::string("b"));
            CHECK(current_call()->outer()->site().plugin == std::string("acme"));
            std::thread([] { CHECK(current_call() == nullptr); }).join();
        });
        CHECK(current_call()->site().plugin == std::string("acme"));
    });
    CHECK(current_call() == nullptr);
}

TEST_CASE("many short threads do not lose or mix their calls") {
    for (int round = 0; round < 200; ++round) {
        std::thread([] {
            guarded(guarded_site, [] {
                if (current_call() == nullptr || current_call()->outer() != nullptr) std::abort();
            });
        }).join();
    }
    CHECK(current_call() == nullptr);
}
