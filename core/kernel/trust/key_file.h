// Files of keys: a line of text each. FILE has the secret key, FILE.pub what others verify with:
//
//     switchyard-ed25519-secret BASE64
//     switchyard-ed25519 BASE64 COMMENT
//
// The secret key is not encrypted: it is what signs in a build that nobody watches, where a passphrase would
// lie beside it. Instead the file is its owner's alone (mode 0600), and one that others may read is refused.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/trust/ed25519.h"

namespace switchyard::trust {

// Makes a key and writes both files, neither of which may exist: a key that is lost cannot be had again.
// `comment` goes into the public one. Throws InputError.
PublicKey write_new_key(const std::string& file, const std::string& comment);

// Each throws InputError ("FILE: error: ...") where it is missing, cannot be read, or is no such key.
SecretKey read_secret_key(const std::string& file);
PublicKey read_public_key(const std::string& file);

struct TrustedKey {
    PublicKey key;
    std::string file;
};

struct TrustedKeys {
    std::vector<TrustedKey> keys;
    std::vector<std::string> left_out;  // files of the folder that are no keys, or that others may write: why

    // By its fingerprint; nullptr if there is none.
    const TrustedKey* find(const std::string& fingerprint) const;
};

// ~/.config/switchyard/trusted-keys; empty: there is no HOME.
std::string trusted_key_folder();

// All *.pub of that folder, and these files (plugins.trusted_keys), which must be there: throws InputError.
TrustedKeys trusted_keys(const std::vector<std::string>& named);

}  // namespace switchyard::trust
