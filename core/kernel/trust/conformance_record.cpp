#include "core/kernel/trust/conformance_record.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/trust/ed25519.h"
#include "core/kernel/trust/own_plugin.h"

namespace switchyard::trust {

namespace fs = std::filesystem;
using base::InputError;
using base::Json;

namespace {

constexpr int record_format = 1;

bool is_same(const ComponentOutcome& a, Kind kind, std::string_view id, Device device, std::string_view use) {
    return a.kind == kind && a.id == id && a.device == device && a.use == use;
}

Json json_of(const ComponentOutcome& one) {
    return {{"kind", std::string(name(one.kind))},
            {"id", one.id},
            {"device", std::string(name(one.device))},
            {"use", one.use},
            {"outcome", one.passed ? "passed" : "failed"},
            {"cases", one.cases},
            {"drawn", one.drawn},
            {"failed", one.failed},
            {"seed", one.seed},
            {"fault", one.fault}};
}

template <class Enum>
Enum needed_name(const Json& json, const char* key) {
    const auto text = base::needed_text(json, key);
    if (const auto value = parse<Enum>(text)) return *value;
    throw InputError("\"" + std::string(key) + "\" is \"" + base::quoted(text) +
                     "\", which is none that is known");
}

std::int64_t needed_count(const Json& json, const char* key) {
    const auto count = base::needed_integer(json, key);
    if (count < 0)
        throw InputError("\"" + std::string(key) + "\" is " + std::to_string(count) +
                         "; expected no less than 0");
    return count;
}

ComponentOutcome outcome_of(const Json& json) {
    ComponentOutcome one;
    one.kind = needed_name<Kind>(json, "kind");
    one.id = base::needed_text(json, "id");
    one.device = needed_name<Device>(json, "device");
    one.use = base::needed_text(json, "use");
    const auto outcome = base::needed_text(json, "outcome");
    if (outcome != "passed" && outcome != "failed")
        throw InputError("\"outcome\" is \"" + base::quoted(outcome) + "\"; expected passed or failed");
    one.cases = needed_count(json, "cases");
    one.drawn = needed_count(json, "drawn");
    one.failed = needed_count(json, "failed");
    one.seed = static_cast<std::uint64_t>(needed_count(json, "seed"));
    one.fault = base::needed_text(json, "fault");
    one.passed = outcome == "passed" && one.cases > 0 && one.failed == 0;
    return one;
}

auto find_same(std::vector<ComponentOutcome>& among, const ComponentOutcome& one) {
    return std::find_if(among.begin(), among.end(), [&](const auto& other) {
        return is_same(other, one.kind, one.id, one.device, one.use);
    });
}

// Held while records of a folder are read, added to and written: for moments, so that another one waits. Its
// file stays, since to remove one that others may just be opening would let two hold it. Where the file
// system has no locks it goes on without.
class RecordLock {
public:
    explicit RecordLock(const fs::path& folder)
        : descriptor_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
        while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~RecordLock() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    RecordLock(const RecordLock&) = delete;
    RecordLock& operator=(const RecordLock&) = delete;

private:
    int descriptor_;
};

}  // namespace

const ComponentOutcome* ConformanceRecord::find(Kind kind, std::string_view id, Device device) const {
    const auto found = std::find_if(components.begin(), components.end(),
                                    [&](const auto& one) { return is_same(one, kind, id, device, ""); });
    return found == components.end() ? nullptr : &*found;
}

std::string to_json_text(const ConformanceRecord& record) {
    Json components = Json::array();
    for (const auto& one : record.components) components.push_back(json_of(one));
    const Json json = {{"switchyard_conformance", record_format},
                       {"name", record.name},
                       {"version", record.version},
                       {"sha256", record.content.library},
                       {"cuda_sha256", record.content.cuda},
                       {"host", record.host},
                       {"components", components}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ConformanceRecord read_record(const std::string& text, const std::string& file) {
    const auto json = base::parse_object(text, file);
    try {
        if (const auto version = base::needed_integer(json, "switchyard_conformance");
            version != record_format)
            throw InputError("\"switchyard_conformance\" is " + std::to_string(version) +
                             ", this program reads records of form " + std::to_string(record_format));
        ConformanceRecord record;
        record.name = base::needed_text(json, "name");
        record.version = base::needed_text(json, "version");
        record.content.library = base::needed_text(json, "sha256");
        record.content.cuda = base::needed_text(json, "cuda_sha256");
        record.host = base::needed_text(json, "host");
        for (const auto& one : base::needed_list(json, "components"))
            record.components.push_back(outcome_of(one));
        return record;
    } catch (const InputError& problem) {
        throw InputError(base::printable(file) +
                         ": error: it is no record of `switchyard plugins verify`: " + problem.what());
    }
}

void add_outcome(ConformanceRecord& record, const ComponentOutcome& outcome) {
    const auto known = find_same(record.components, outcome);
    if (known == record.components.end()) {
        record.components.push_back(outcome);
        return;
    }
    const bool same_cases = known->seed == outcome.seed && outcome.drawn >= known->drawn;
    if (known->passed || same_cases) *known = outcome;
}

std::size_t add_missing(ConformanceRecord& record, const ConformanceRecord& other) {
    if (other.content != record.content || other.host != record.host) return 0;
    std::size_t added = 0;
    for (const auto& one : other.components) {
        if (find_same(record.components, one) != record.components.end()) continue;
        record.components.push_back(one);
        ++added;
    }
    return added;
}

std::string shipped_record_of(const std::string& library) { return library + ".conformance.json"; }

std::string RecordCache::file_of(const PluginContent& content, const std::string& host) const {
    return cache_ + "/conformance/" + sha256_of(content.library + "\n" + content.cuda + "\n" + host) +
           ".json";
}

std::optional<ConformanceRecord> RecordCache::find(const PluginContent& content) const {
    if (cache_.empty() || content.library.empty()) return std::nullopt;
    const auto file = file_of(content, host_version());
    const auto text = base::text_if_readable(file, base::limits::json_bytes);
    if (text.empty()) return std::nullopt;
    try {
        auto record = read_record(text, file);
        if (record.content == content && record.host == host_version()) return record;
    } catch (const InputError&) {
        // Verifying again writes it again.
    }
    return std::nullopt;
}

std::optional<std::string> RecordCache::store(const ConformanceRecord& record) const {
    if (cache_.empty())
        return "there is no folder for it: neither XDG_CACHE_HOME nor HOME is an absolute path";
    const auto file = file_of(record.content, record.host);
    std::error_code error;
    fs::create_directories(fs::path(file).parent_path(), error);
    if (error) return "cannot create " + fs::path(file).parent_path().string() + ": " + error.message();
    return base::write_file_atomically(file, to_json_text(record));
}

std::optional<std::string> RecordCache::add(const ConformanceRecord& found) const {
    if (cache_.empty()) return store(found);
    const auto folder = fs::path(file_of(found.content, found.host)).parent_path();
    std::error_code ignored;  // `store` tells of it
    fs::create_directories(folder, ignored);
    const RecordLock lock(folder);
    auto record = find(found.content)
                      .value_or(ConformanceRecord{found.name, found.version, found.content, found.host, {}});
    for (const auto& one : found.components) add_outcome(record, one);
    return store(record);
}

}  // namespace switchyard::trust
