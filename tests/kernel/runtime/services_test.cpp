// Counting executions through the table that plugins get.
#include <string>
#include <thread>
#include <vector>

#include "core/kernel/runtime/services.h"

#include <switchyard_test.h>

using switchyard::runtime::ExecutionCounter;
using switchyard::runtime::services;
using Calls = std::map<std::string, std::uint64_t>;

TEST_CASE("executions are counted by variant, through the plugin's table") {
    ExecutionCounter counter;
    services()->executed(&counter, "flash");
    services()->executed(&counter, "math");
    services()->executed(&counter, "flash");
    CHECK(counter.calls() == Calls{{"flash", 2}, {"math", 1}});
    CHECK(counter.total() == 3);
    counter.reset();
    CHECK(counter.calls().empty());
}

TEST_CASE("no token, no variant and a null variant are harmless") {
    ExecutionCounter counter;
    services()->executed(nullptr, "flash");
    services()->executed(&counter, "");
    services()->executed(&counter, nullptr);
    CHECK(counter.calls() == Calls{{"", 2}});
}

TEST_CASE("equal texts at different places are one variant, and there may be many") {
    ExecutionCounter counter;
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) texts.push_back(std::string(1, static_cast<char>('a' + i % 20)));
    for (const auto& text : texts) counter.count(text.c_str());
    const Calls calls = counter.calls();
    CHECK(calls.size() == 20);
    for (const auto& [variant, count] : calls) CHECK(count == 2);
    counter.reset();
}

TEST_CASE("threads lose no count") {
    ExecutionCounter counter;
    static const char* const variants[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20000; ++i) counter.count(variants[i % 10]);
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(counter.total() == 80000);
    for (const char* variant : variants) CHECK(counter.calls()[variant] == 8000);
}
