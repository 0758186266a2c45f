#include "core/kernel/loader/probe/probe_cache.h"

#include <algorithm>
#include <filesystem>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/probe/mapped_files.h"

namespace switchyard::loader {

namespace fs = std::filesystem;
using base::Json;
using base::text_of;

namespace {

constexpr int format = 3;

Json read_entry(const std::string& path) {
    Json entry = base::parse_json(base::text_if_readable(path, base::limits::json_bytes), path).value;
    return base::member(entry, "format") == format ? entry : Json::object();
}

bool unchanged(const FileIdentities& files) {
    return std::all_of(files.begin(), files.end(),
                       [](const auto& file) { return file_identity(file.first) == file.second; });
}

}  // namespace

std::string ProbeCache::file_of(const std::string& library, const std::string& host) const {
    return folder_ + "/probes/" + text_hash(library + "\n" + host) + ".json";
}

void ProbeCache::write(const std::string& file, const std::string& text) const {
    std::error_code error;
    fs::create_directories(fs::path(file).parent_path(), error);
    if (!error) (void)base::write_file_atomically(file, text);
}

std::optional<ProbeReport> ProbeCache::find(CacheKey& key) const {
    const Json entry = folder_.empty() ? Json() : read_entry(file_of(key.library, key.host));
    key.identity = file_identity(key.library);  // before its content, so that a later change is noticed
    const bool same_file = !entry.empty() && text_of(entry, "identity") == key.identity;
    key.content = same_file ? text_of(entry, "content") : content_hash(key.library);
    if (key.content.empty() || text_of(entry, "content") != key.content) return std::nullopt;
    if (text_of(entry, "library") != key.library || text_of(entry, "host") != key.host) return std::nullopt;
    auto report = parse_probe_report(text_of(entry, "report"));
    if (!report || !unchanged(report->files)) return std::nullopt;
    report->from_cache = true;
    if (!same_file) store(key, *report);  // touched or copied, not changed
    return report;
}

void ProbeCache::store(const CacheKey& key, const ProbeReport& report) const {
    if (folder_.empty() || key.content.empty() || file_identity(key.library) != key.identity) return;
    const Json entry = {{"format", format},       {"library", key.library}, {"identity", key.identity},
                        {"content", key.content}, {"host", key.host},       {"report", to_json(report)}};
    write(file_of(key.library, key.host), entry.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string ProbeCache::library_id(const std::string& library) const {
    if (folder_.empty() || !read_elf(library).image.build_id.empty()) return loader::library_id(library);
    const std::string file = folder_ + "/libraries/" + text_hash(library + "\n" + file_identity(library));
    std::string id = base::text_if_readable(file);
    if (id.starts_with("xxh3:") && id.size() == 37) return id;
    id = loader::library_id(library);
    if (!id.empty()) write(file, id);
    return id;
}

}  // namespace switchyard::loader
