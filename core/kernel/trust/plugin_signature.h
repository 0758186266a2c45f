// A signature lies beside the library, as libNAME.so.sig: JSON that states name, version and content of the
// plugin, and whose key signed that statement.
//
//     {"switchyard_signature": 1, "name": "fast_norm", "version": "0.1.0", "sha256": "0123...",
//      "cuda_sha256": "", "conformance_sha256": "", "key": "SHA256:...", "signature": "BASE64"}
//
// What is signed is the same object without `key` and `signature`, as compact JSON in that order of keys. It
// covers the library with the manifest in it, the library beside it that has its kernels for CUDA, and the
// record of conformance that is shipped with it (conformance_record.h): "" where there is none.
#pragma once

#include <optional>
#include <string>

#include "core/kernel/loader/manifest.h"
#include "core/kernel/trust/key_file.h"
#include "core/kernel/trust/plugin_content.h"

namespace switchyard::trust {

std::string signature_file_of(const std::string& library);

struct PluginSignature {
    std::string name, version;  // of the plugin
    PluginContent content;
    std::string record;  // SHA-256 of the record of conformance beside the library
    std::string key;     // fingerprint
    SignatureBytes bytes{};
};

// Of a library as it lies there; throws InputError if it, or what is beside it, cannot be read.
PluginSignature sign(const std::string& library, const loader::Manifest& manifest, const SecretKey& key);

std::string to_json_text(const PluginSignature& signature);
// `file` names the text in errors; throws InputError.
PluginSignature read_signature(const std::string& text, const std::string& file);

// Whether a plugin is what somebody signed whom the user trusts, and if not why, in the words of a gate.
struct SignatureCheck {
    bool good = false;
    std::string reason, expected, got, hint;  // if not
    std::string signer;                       // if good: "SHA256:... (alice.pub)"
    std::string record;                       // if good: SHA-256 of the record that is signed too
};

// The plugin alone: whoever uses the record beside it compares it with `record`.
SignatureCheck check_signature(const std::string& library, const loader::Manifest& manifest,
                               const TrustedKeys& trusted);
// With the record: not good either where that is another one than was signed, or is missing.
SignatureCheck check_signature_and_record(const std::string& library, const loader::Manifest& manifest,
                                          const TrustedKeys& trusted);

}  // namespace switchyard::trust
