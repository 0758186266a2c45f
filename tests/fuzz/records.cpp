// What one process of ours wrote and another reads, so that a file may have been damaged or a plugin have
// written into it: the probe's report and its transcript, a saved plan, times that
// `auto` chooses by; and what others ship with a plugin: its signature, its record of conformance, a lock.
#include "core/kernel/base/input_error.h"
#include "core/kernel/loader/probe/probe_runner.h"
#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/saved_plan.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/kernel/trust/plugin_lock.h"
#include "core/kernel/trust/plugin_signature.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace loader = switchyard::loader;
namespace resolver = switchyard::resolver;
namespace trust = switchyard::trust;

void check_probe(std::string_view text) {
    if (const auto report = loader::parse_probe_report(text)) {
        const auto again = loader::parse_probe_report(loader::to_json(*report));
        require(again.has_value() && loader::to_json(*again) == loader::to_json(*report),
                "a probe's report does not come back");
    }
    loader::ProbeTranscript transcript;
    transcript.lines = std::string(text);
    const auto read = loader::read_transcript(transcript);
    if (read.failure) require_message(loader::to_string(*read.failure));
}

// What lies beside a plugin's library, and the lock of plugins: whoever ships a plugin writes them.
void check_trust(const std::string& text) {
    try {
        const auto written = to_json_text(trust::read_signature(text, "x.sig"));
        require(to_json_text(trust::read_signature(written, "x.sig")) == written,
                "a signature does not come back");
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
    try {
        const auto written = to_json_text(trust::read_record(text, "x.json"));
        require(to_json_text(trust::read_record(written, "x.json")) == written,
                "a record does not come back");
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
    try {
        const auto written = to_toml(trust::parse_lock(text, "plugins.lock"));
        require(to_toml(trust::parse_lock(written, "plugins.lock")) == written, "a lock does not come back");
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
}

void check_measurement(const std::string& text) {
    const auto read = resolver::read_measurement(text);
    if (!read.error.empty()) return require_message(read.error);
    const auto written = resolver::measurement_text(read.measurement);
    const auto again = resolver::read_measurement(written);
    require(again.error.empty() && resolver::measurement_text(again.measurement) == written,
            "times that were measured do not come back", again.error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    check_probe(text);
    check_measurement(std::string(text));
    check_trust(std::string(text));
    const auto compared = resolver::compare_with_saved(resolver::Plan{}, std::string(text));
    if (!compared.error.empty()) require_message(compared.error);
    return 0;
}
