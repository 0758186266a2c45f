#include "core/kernel/trust/plugin_signature.h"

#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/trust/conformance_record.h"

namespace switchyard::trust {

namespace fs = std::filesystem;
using base::InputError;
using base::Json;

namespace {

constexpr int signature_format = 1;
constexpr std::size_t most_signature_bytes = 1 << 16;

Json statement(const PluginSignature& signature) {
    return {{"switchyard_signature", signature_format},
            {"name", signature.name},
            {"version", signature.version},
            {"sha256", signature.content.library},
            {"cuda_sha256", signature.content.cuda},
            {"conformance_sha256", signature.record}};
}

std::string signed_text(const PluginSignature& signature) {
    return statement(signature).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string record_hash_of(const std::string& library) {
    const auto file = shipped_record_of(library);
    std::error_code ignored;
    return fs::exists(file, ignored) ? sha256_of_file(file) : std::string{};
}

SignatureCheck refused(std::string reason, std::string hint, std::string expected = {},
                       std::string got = {}) {
    SignatureCheck check;
    check.reason = std::move(reason);
    check.expected = std::move(expected);
    check.got = std::move(got);
    check.hint = std::move(hint);
    return check;
}

std::string or_none(const std::string& hash) {
    return hash.empty() ? "none" : "sha256:" + base::quoted(hash);
}

// What was signed against what is there.
SignatureCheck compare(const PluginSignature& stated, const PluginSignature& found) {
    const std::string again =
        "get library and signature again from whoever made it, or sign what is there now";
    if (stated.name != found.name || stated.version != found.version)
        return refused("its signature is one of another plugin", again,
                       base::quoted(stated.name) + " " + base::quoted(stated.version),
                       base::quoted(found.name) + " " + base::quoted(found.version));
    if (found.content.library.empty())
        return refused("it cannot be read, so that its signature proves nothing", again);
    if (stated.content.library != found.content.library)
        return refused("its library was changed after it was signed", again,
                       "sha256:" + base::quoted(stated.content.library), "sha256:" + found.content.library);
    if (stated.content.cuda != found.content.cuda)
        return refused("its library for CUDA was changed after it was signed", again,
                       or_none(stated.content.cuda), or_none(found.content.cuda));
    SignatureCheck check;
    check.good = true;
    check.record = stated.record;
    return check;
}

std::string add_left_out(std::string hint, const TrustedKeys& trusted) {
    for (const auto& why : trusted.left_out) hint += "; " + why;
    return hint;
}

}  // namespace

std::string signature_file_of(const std::string& library) { return library + ".sig"; }

PluginSignature sign(const std::string& library, const loader::Manifest& manifest, const SecretKey& key) {
    PluginSignature signature;
    signature.name = manifest.name;
    signature.version = manifest.version;
    signature.content = content_of(library);
    if (signature.content.library.empty())
        throw InputError(base::printable(library) + ": error: it, or its library for CUDA, cannot be read");
    signature.record = record_hash_of(library);
    signature.key = fingerprint(key.public_key());
    signature.bytes = key.sign(signed_text(signature));
    return signature;
}

std::string to_json_text(const PluginSignature& signature) {
    auto json = statement(signature);
    json["key"] = signature.key;
    json["signature"] = to_base64(signature.bytes);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

PluginSignature read_signature(const std::string& text, const std::string& file) {
    const auto json = base::parse_object(text, file);
    try {
        if (const auto version = base::needed_integer(json, "switchyard_signature");
            version != signature_format)
            throw InputError("\"switchyard_signature\" is " + std::to_string(version) +
                             ", this program reads signatures of form " + std::to_string(signature_format));
        PluginSignature signature;
        signature.name = base::needed_text(json, "name");
        signature.version = base::needed_text(json, "version");
        signature.content.library = base::needed_text(json, "sha256");
        signature.content.cuda = base::needed_text(json, "cuda_sha256");
        signature.record = base::needed_text(json, "conformance_sha256");
        signature.key = base::needed_text(json, "key");
        const auto bytes = from_base64<64>(base::needed_text(json, "signature"));
        if (!bytes) throw InputError("\"signature\" is not the base64 of 64 bytes");
        signature.bytes = *bytes;
        return signature;
    } catch (const InputError& problem) {
        throw InputError(base::printable(file) + ": error: " + problem.what());
    }
}

SignatureCheck check_signature(const std::string& library, const loader::Manifest& manifest,
                               const TrustedKeys& trusted) {
    const auto file = signature_file_of(library);
    PluginSignature stated;
    try {
        const auto text = base::read_text(file, most_signature_bytes);
        if (!text)
            return refused("it is not signed",
                           "ask whoever made it for a signature, or sign it yourself: "
                           "`switchyard plugins sign` writes " +
                               base::printable(fs::path(file).filename().string()) + " beside it");
        stated = read_signature(*text, file);
    } catch (const InputError& problem) {
        return refused(std::string("its signature cannot be used: ") + problem.what(),
                       "get or make the signature again");
    }
    const auto* const key = trusted.find(stated.key);
    if (key == nullptr) {
        const auto folder = trusted_key_folder();
        return refused("it is signed by a key that you do not trust",
                       add_left_out("if you trust its owner, put the owner's .pub into " +
                                        (folder.empty() ? std::string("plugins.trusted_keys") : folder),
                                    trusted),
                       trusted.keys.empty()
                           ? "one of your trusted keys: there are none"
                           : "one of your trusted keys: there are " + std::to_string(trusted.keys.size()),
                       base::quoted(stated.key));
    }
    if (!verify(key->key, signed_text(stated), stated.bytes))
        return refused(
            "its signature is not by the key that it names: the signature or what it states was changed",
            "get library and signature again from whoever made it", {}, base::quoted(stated.key));
    PluginSignature found;
    found.name = manifest.name;
    found.version = manifest.version;
    found.content = content_of(library);
    auto check = compare(stated, found);
    if (check.good)
        check.signer = stated.key + " (" + base::printable(fs::path(key->file).filename().string()) + ")";
    return check;
}

SignatureCheck check_signature_and_record(const std::string& library, const loader::Manifest& manifest,
                                          const TrustedKeys& trusted) {
    auto check = check_signature(library, manifest, trusted);
    const auto file = shipped_record_of(library);
    std::error_code ignored;
    const bool there = fs::exists(file, ignored);
    const auto found = record_hash_of(library);
    if (!check.good || (found == check.record && there == !check.record.empty())) return check;
    const auto name = base::printable(fs::path(file).filename().string());
    const std::string again = "get " + name + " again from whoever made it, or sign what is there now";
    if (!there)
        return refused("its record of conformance, which is signed, is missing", again, or_none(check.record),
                       "no file " + name);
    return refused("its record of conformance was changed after it was signed", again, or_none(check.record),
                   found.empty() ? "one that cannot be read" : "sha256:" + found);
}

}  // namespace switchyard::trust
