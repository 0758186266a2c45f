#include "core/kernel/base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/kernel/base/printable.h"

namespace switchyard::log {
namespace {

// By Level.
constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info,
                                                spdlog::level::warn, spdlog::level::err};

spdlog::level::level_enum lowest_level() {
    const char* const asked = std::getenv("SWITCHYARD_LOG");
    const std::string text = asked == nullptr ? "" : asked;
    if (text == "debug") return spdlog::level::debug;
    if (text == "information" || text == "info") return spdlog::level::info;
    if (text == "error") return spdlog::level::err;
    return spdlog::level::warn;
}

// Never destroyed: plugins may log while the process ends.
spdlog::logger& logger() {
    static spdlog::logger* const made = [] {
        auto* const fresh =
            new spdlog::logger("switchyard", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        fresh->set_pattern("%^%l%$: %v");
        fresh->set_level(lowest_level());
        fresh->flush_on(spdlog::level::debug);
        return fresh;
    }();
    return *made;
}

}  // namespace

void write(Level level, std::string_view text) {
    const auto shown = base::printable_lines(text);
    logger().log(levels[static_cast<std::size_t>(level)], spdlog::string_view_t(shown.data(), shown.size()));
}

}  // namespace switchyard::log
