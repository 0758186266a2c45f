// What `switchyard plugins verify` found out about a plugin, to be believed as long as nothing changed: for
// one content of its libraries and one version of the host. Records are kept in the user's cache, and can be
// shipped: libNAME.so.conformance.json beside the library counts where the plugin's signature covers it
// (plugin_signature.h) and is by a key that the user trusts.
//
// It says what a run of cases found, not that a plugin means well: one that was loaded once could have
// written the record itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/types.h>
#include "core/kernel/trust/plugin_content.h"

namespace switchyard::trust {

// Cases that a run draws at random unless it is told another number; a run of fewer proves nothing.
inline constexpr std::int64_t drawn_by_default = 50;

struct ComponentOutcome {
    Kind kind = Kind::attention;
    std::string id;
    Device device = Device::cpu;
    bool passed = false;
    std::int64_t cases = 0;   // that ran
    std::int64_t drawn = 0;   // that were to be drawn at random
    std::int64_t failed = 0;  // of these with a fault
    std::uint64_t seed = 0;   // of the drawn ones
    std::string fault;        // the first: "wrong_output in ...: ..."; empty if passed
    // Of a configuration, what it uses (resolver::use_in_words); empty: all that the component claims.
    std::string use{};
};

struct ConformanceRecord {
    std::string name, version;  // of the plugin
    PluginContent content;
    std::string host;  // host_version()
    std::vector<ComponentOutcome> components;

    // Of all that the component claims; nullptr where it was not run.
    const ComponentOutcome* find(Kind kind, std::string_view id, Device device) const;
};

std::string to_json_text(const ConformanceRecord& record);
// `file` names the text in errors; throws InputError.
ConformanceRecord read_record(const std::string& text, const std::string& file);

// Takes what a later run found out. A fault stays until a run with its seed, and at least as many drawn
// cases, passes: other cases do not refute it, and a fault that other cases have does not replace it.
void add_outcome(ConformanceRecord& record, const ComponentOutcome& outcome);

// Takes those outcomes of `other` that `record` has none in place of; how many. None of a record of another
// content or host.
std::size_t add_missing(ConformanceRecord& record, const ConformanceRecord& other);

// libNAME.so.conformance.json
std::string shipped_record_of(const std::string& library);

// Records in CACHE/conformance; `cache`: machine::standard_cache_folder(), empty: nothing is remembered.
class RecordCache {
public:
    explicit RecordCache(std::string cache) : cache_(std::move(cache)) {}

    // Nothing where none is, or it is damaged: then it is as good as not there.
    std::optional<ConformanceRecord> find(const PluginContent& content) const;
    // An error in words, if it cannot be written.
    std::optional<std::string> store(const ConformanceRecord& record) const;
    // Adds what a run found to what is remembered by now, which other runs may add to at the same time. An
    // error in words, if it cannot be written.
    std::optional<std::string> add(const ConformanceRecord& found) const;

private:
    std::string file_of(const PluginContent& content, const std::string& host) const;

    std::string cache_;
};

}  // namespace switchyard::trust
