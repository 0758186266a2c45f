// What earlier probes found out, so that listing plugins starts no process: one JSON file for each library
// and host.
//
// A result is valid as long as the library's content is the same, and the files that it brought along
// (ProbeReport::files), and the host (`host`, which is part of the file's name: a home folder that several
// machines share serves them all). Whether the content is the same is told by the file's identity (device,
// inode, size, time of change), or else by its hash. Files that cannot be read are as good as not there, and
// are written again. What a plugin brought along is not known if it ended while it was loaded: such a
// failure is remembered until the library itself changes, or somebody probes again (`plugins doctor
// --fresh`).
#pragma once

#include <optional>
#include <string>

#include "core/kernel/loader/probe/probe_report.h"

namespace switchyard::loader {

struct CacheKey {
    std::string library;  // path
    std::string host;     // all that a result depends on beside the library and what it brings along
    // Of the library as find() met it, which fills them in: what is learned later is about that file.
    std::string identity{};  // file_identity()
    std::string content{};   // content_hash()
};

class ProbeCache {
public:
    // Empty: remembers nothing.
    explicit ProbeCache(std::string folder) : folder_(std::move(folder)) {}

    // Fills in `key`, without reading the library if its identity is known.
    std::optional<ProbeReport> find(CacheKey& key) const;
    // `key`: filled in by find(). Where the library is another file by now, as after it was built again
    // meanwhile, nobody knows which of the two was probed: nothing is remembered. Failing to write is not an
    // error: the next run probes again.
    void store(const CacheKey& key, const ProbeReport& report) const;

    // library_id(), without reading the whole library again where it has no build id.
    std::string library_id(const std::string& library) const;

private:
    std::string file_of(const std::string& library, const std::string& host) const;
    void write(const std::string& file, const std::string& text) const;

    std::string folder_;
};

}  // namespace switchyard::loader
