// A signature covers every byte of the libraries, name and version, and the record beside them; and only one
// by a key that is trusted counts. To add an attack: change one thing between `sign` and `check`.
#include "core/kernel/trust/plugin_signature.h"

#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "core/kernel/trust/conformance_record.h"
#include "trust_fixture.h"

#include <nlohmann/json.hpp>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

trust::SignatureCheck check(const PluginCopy& plugin, const std::string& trusted = "a") {
    return trust::check_signature(plugin.library(), *plugin.record().manifest, trusting(trusted));
}

std::string signature_file(const PluginCopy& plugin) { return trust::signature_file_of(plugin.library()); }

nlohmann::ordered_json json_of(const PluginCopy& plugin) {
    return nlohmann::ordered_json::parse(read_file(signature_file(plugin)));
}

}  // namespace

TEST_CASE("a signed plugin is told by whom, wherever it lies") {
    const PluginCopy plugin("signed");
    sign(plugin, key_of('a'));
    const auto good = check(plugin);
    INFO(good.reason);
    CHECK(good.good);
    CHECK(good.signer == trust::fingerprint(key_of('a').public_key()) + " (a.pub)");
    CHECK(good.record.empty());
    const auto json = json_of(plugin);
    CHECK(json.at("name") == "test_good");
    CHECK(json.at("version") == "1.2.3");
    CHECK(json.at("sha256") == trust::sha256_of(read_file(plugin.library())));
    CHECK(json.at("key") == trust::fingerprint(key_of('a').public_key()));
    const PluginCopy other("elsewhere");
    fs::copy_file(signature_file(plugin), signature_file(other));
    CHECK(check(other).good);
    CHECK(check(other, "ba").good);
}

TEST_CASE("no signature, one that cannot be read, and one that is none") {
    const PluginCopy plugin("unsigned");
    CHECK(check(plugin).reason == "it is not signed");
    CHECK_THAT(check(plugin).hint,
               contains("`switchyard plugins sign` writes libtest_good.so.sig beside it"));
    fs::create_directory(signature_file(plugin));
    CHECK_THAT(check(plugin).reason, contains("its signature cannot be used: "));
    fs::remove(signature_file(plugin));
    for (const auto* text : {"", "{}", "[]", "no JSON", "{\"switchyard_signature\": 7}"}) {
        write_file(signature_file(plugin), text);
        INFO(text);
        CHECK_FALSE(check(plugin).good);
        CHECK_THAT(check(plugin).reason, contains("its signature cannot be used: "));
        CHECK_THAT(check(plugin).reason, contains("libtest_good.so.sig"));
    }
    write_file(signature_file(plugin), std::string(1 << 20, ' '));
    CHECK_FALSE(check(plugin).good);
}

TEST_CASE("one bit of the library, anywhere in it") {
    const PluginCopy plugin("changed");
    sign(plugin, key_of('a'));
    const auto size = read_file(plugin.library()).size();
    // Headers, code, the last byte; those of the manifest are looked at below.
    for (const std::size_t at : {std::size_t{40}, size / 3, size / 2, size - 1}) {
        const auto manifest = *plugin.record().manifest;
        flip_bit(plugin.library(), at);
        const auto bad = trust::check_signature(plugin.library(), manifest, trusting("a"));
        INFO(at);
        CHECK_FALSE(bad.good);
        CHECK(bad.reason == "its library was changed after it was signed");
        CHECK(bad.expected == "sha256:" + json_of(plugin).at("sha256").get<std::string>());
        CHECK(bad.got == "sha256:" + trust::sha256_of_file(plugin.library()));
        flip_bit(plugin.library(), at);
    }
    CHECK(check(plugin).good);
    write_file(plugin.library(), read_file(plugin.library()) + '\0');
    CHECK(check(plugin).reason == "its library was changed after it was signed");
}

TEST_CASE("another name, another version") {
    const PluginCopy plugin("renamed");
    sign(plugin, key_of('a'));
    plugin.change("\"version\":\"1.2.3\"", "\"version\":\"1.2.4\"");
    auto bad = check(plugin);
    CHECK(bad.reason == "its signature is one of another plugin");
    CHECK(bad.expected == "test_good 1.2.3");
    CHECK(bad.got == "test_good 1.2.4");
    plugin.change("\"version\":\"1.2.4\"", "\"version\":\"1.2.3\"");
    CHECK(check(plugin).good);
    plugin.change("\"name\":\"test_good\"", "\"name\":\"test_goof\"");
    CHECK(check(plugin).got == "test_goof 1.2.3");
}

TEST_CASE("a library for CUDA that was added, changed or taken away") {
    const PluginCopy plugin("cuda");
    const auto cuda = trust::cuda_part_of(plugin.library());
    CHECK(fs::path(cuda).filename() == "libtest_good_cuda.so");
    sign(plugin, key_of('a'));
    write_file(cuda, "kernels");
    CHECK(check(plugin).reason == "its library for CUDA was changed after it was signed");
    CHECK(check(plugin).expected == "none");
    sign(plugin, key_of('a'));
    CHECK(check(plugin).good);
    flip_bit(cuda, 3);
    CHECK(check(plugin).reason == "its library for CUDA was changed after it was signed");
    fs::remove(cuda);
    CHECK(check(plugin).got == "none");
}

TEST_CASE("every text in the signature's file is covered") {
    const PluginCopy plugin("stated");
    sign(plugin, key_of('a'));
    const auto whole = json_of(plugin);
    for (const auto* key : {"name", "version", "sha256", "cuda_sha256", "conformance_sha256"}) {
        auto json = whole;
        json[key] = json.at(key).get<std::string>() + "0";
        write_file(signature_file(plugin), json.dump());
        INFO(key);
        CHECK_THAT(check(plugin).reason, contains("its signature is not by the key that it names"));
        json.erase(key);
        write_file(signature_file(plugin), json.dump());
        CHECK_THAT(check(plugin).reason, contains("its signature cannot be used: "));
    }
    auto json = whole;
    auto text = json.at("signature").get<std::string>();
    text[10] = text[10] == 'A' ? 'B' : 'A';
    json["signature"] = text;
    write_file(signature_file(plugin), json.dump());
    CHECK_THAT(check(plugin).reason, contains("its signature is not by the key that it names"));
    json["signature"] = "AAAA";
    write_file(signature_file(plugin), json.dump());
    CHECK_THAT(check(plugin).reason, contains("not the base64 of 64 bytes"));
}

TEST_CASE("a key that nobody trusts, and one that names another") {
    const PluginCopy plugin("foreign");
    sign(plugin, key_of('b'));
    const auto bad = check(plugin);
    CHECK(bad.reason == "it is signed by a key that you do not trust");
    CHECK(bad.got == trust::fingerprint(key_of('b').public_key()));
    CHECK_THAT(bad.hint, contains("if you trust its owner"));
    CHECK(check(plugin, "").expected == "one of your trusted keys: there are none");
    auto keys = trusting("a");
    keys.left_out = {"ada.pub: error: is no key"};
    CHECK_THAT(trust::check_signature(plugin.library(), *plugin.record().manifest, keys).hint,
               contains("ada.pub: error: is no key"));
    // Signed by b, but it says by a.
    auto json = json_of(plugin);
    json["key"] = trust::fingerprint(key_of('a').public_key());
    write_file(signature_file(plugin), json.dump());
    CHECK_THAT(check(plugin).reason, contains("its signature is not by the key that it names"));
}

TEST_CASE("the record of conformance beside the library is signed with it") {
    const PluginCopy plugin("record");
    write_file(trust::shipped_record_of(plugin.library()), "a record");
    sign(plugin, key_of('a'));
    CHECK(check(plugin).good);
    CHECK(check(plugin).record == trust::sha256_of("a record"));
}

TEST_CASE("a record that was changed, taken away or added is told of, although the plugin is good") {
    const PluginCopy plugin("other_record");
    const auto file = trust::shipped_record_of(plugin.library());
    const auto whole = [&] {
        return trust::check_signature_and_record(plugin.library(), *plugin.record().manifest, trusting("a"));
    };
    CHECK(whole().reason == "it is not signed");
    sign(plugin, key_of('a'));
    CHECK(whole().good);
    write_file(file, "a record");
    CHECK(check(plugin).good);
    CHECK_FALSE(whole().good);
    CHECK(whole().expected == "none");
    sign(plugin, key_of('a'));
    CHECK(whole().good);
    CHECK_THAT(whole().signer, contains("(a.pub)"));
    write_file(file, "a better record");
    CHECK(check(plugin).good);
    const auto changed = whole();
    CHECK_FALSE(changed.good);
    CHECK(changed.reason == "its record of conformance was changed after it was signed");
    CHECK(changed.expected == "sha256:" + trust::sha256_of("a record"));
    CHECK(changed.got == "sha256:" + trust::sha256_of("a better record"));
    fs::remove(file);
    CHECK(check(plugin).good);
    const auto missing = whole();
    CHECK_FALSE(missing.good);
    CHECK(missing.reason == "its record of conformance, which is signed, is missing");
    CHECK(missing.got == "no file libtest_good.so.conformance.json");
}

TEST_CASE("a signature that is written is read again") {
    const PluginCopy plugin("again");
    const auto signature = trust::sign(plugin.library(), *plugin.record().manifest, key_of('a'));
    const auto again = trust::read_signature(to_json_text(signature), "x.sig");
    CHECK(to_json_text(again) == to_json_text(signature));
    fs::remove(plugin.library());
    loader::Manifest manifest;
    CHECK_THROWS_AS(trust::sign(plugin.library(), manifest, key_of('a')), base::InputError);
}
