// What the tests of trust share: a plugin's library in a folder of its own, keys, and what was judged.
#pragma once

#include <string>

#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/judge.h"

namespace switchyard::test {

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);
// One bit of it turned over.
void flip_bit(const std::string& path, std::size_t at);

// A new folder with a copy of the test plugin `test_good`.
class PluginCopy {
public:
    explicit PluginCopy(const std::string& name);

    const std::string& folder() const { return folder_; }
    const std::string& library() const { return library_; }
    // By its manifest; nothing of it runs.
    loader::PluginRecord record() const;
    // The same length; in its manifest.
    void change(const std::string& from, const std::string& to) const;

private:
    std::string folder_, library_;
};

// Made of this letter, so that tests repeat; not for anybody else.
trust::SecretKey key_of(unsigned char letter);
// Those keys are trusted, each from a file of its letter.
trust::TrustedKeys trusting(const std::string& letters);

// Signs what lies there.
void sign(const PluginCopy& plugin, const trust::SecretKey& key);

}  // namespace switchyard::test
