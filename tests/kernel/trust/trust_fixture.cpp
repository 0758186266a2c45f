#include "trust_fixture.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/kernel/loader/discovery.h"

#include <switchyard_test.h>

namespace switchyard::test {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void flip_bit(const std::string& path, std::size_t at) {
    auto content = read_file(path);
    content.at(at) = static_cast<char>(content.at(at) ^ 1);
    write_file(path, content);
}

PluginCopy::PluginCopy(const std::string& name)
    : folder_(temporary_dir(name).string()), library_(folder_ + "/libtest_good.so") {
    std::filesystem::copy_file(build_dir() / "tests/support/plugins/good/libtest_good.so", library_);
}

loader::PluginRecord PluginCopy::record() const {
    loader::DiscoveryOptions options;
    options.path.entries = {{library_, "the test", true}};
    options.run_probes = false;
    options.cache_folder = "";
    auto record = loader::discover(options, HostInfo()).at(0);
    REQUIRE(record.manifest);
    return record;
}

void PluginCopy::change(const std::string& from, const std::string& to) const {
    auto content = read_file(library_);
    const auto at = content.find(from, content.find("SWYDMAN1"));
    REQUIRE(at != std::string::npos);
    REQUIRE(from.size() == to.size());
    write_file(library_, content.replace(at, from.size(), to));
}

trust::SecretKey key_of(unsigned char letter) {
    trust::SecretKey::Seed seed;
    seed.fill(letter);
    return trust::SecretKey(seed);
}

trust::TrustedKeys trusting(const std::string& letters) {
    trust::TrustedKeys keys;
    for (const char letter : letters)
        keys.keys.push_back({key_of(static_cast<unsigned char>(letter)).public_key(),
                             "/keys/" + std::string(1, letter) + ".pub"});
    return keys;
}

void sign(const PluginCopy& plugin, const trust::SecretKey& key) {
    const auto record = plugin.record();
    write_file(trust::signature_file_of(plugin.library()),
               to_json_text(trust::sign(plugin.library(), *record.manifest, key)));
}

}  // namespace switchyard::test
