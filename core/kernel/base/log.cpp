#include "core/kernel/base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/kernel/base/printable.h"

namespace switchyard::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::debug:
            return spdlog::level::debug;
        case Level::information:
            return spdlog::level::info;
        case Level::warning:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
    }
    return spdlog::level::err;
}

Level initial_level() {
    const char* const asked = std::getenv("SWITCHYARD_LOG");
    const std::string text = asked == nullptr ? "" : asked;
    if (text == "debug") return Level::debug;
    if (text == "information" || text == "info") return Level::information;
    if (text == "error") return Level::error;
    return Level::warning;
}

// Never destroyed: plugins may log while the process ends.
spdlog::logger& logger() {
    static spdlog::logger* const made = [] {
        auto* const fresh =
            new spdlog::logger("switchyard", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        fresh->set_pattern("%^%l%$: %v");
        fresh->set_level(to_spdlog(initial_level()));
        fresh->flush_on(spdlog::level::debug);
        return fresh;
    }();
    return *made;
}

}  // namespace

void write(Level level, std::string_view text) {
    const auto shown = base::printable_lines(text);
    logger().log(to_spdlog(level), spdlog::string_view_t(shown.data(), shown.size()));
}

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

Level level() {
    switch (logger().level()) {
        case spdlog::level::trace:
        case spdlog::level::debug:
            return Level::debug;
        case spdlog::level::info:
            return Level::information;
        case spdlog::level::warn:
            return Level::warning;
        default:
            return Level::error;
    }
}

}  // namespace switchyard::log
