#include "core/kernel/trust/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/loader/exposed_file.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::trust {

namespace fs = std::filesystem;
using base::InputError;

namespace {

constexpr const char* secret_word = "switchyard-ed25519-secret";
constexpr const char* public_word = "switchyard-ed25519";
constexpr std::size_t most_key_bytes = 4096;  // of a key's file

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
    throw InputError(base::printable(file) + ": error: " + why);
}

// Writes a file that was not there, with these permissions from the beginning.
void write_new_file(const std::string& file, const std::string& text, mode_t mode) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno == EEXIST)
        refuse(file, "it exists, and keys are not replaced; expected the name of a new file");
    if (descriptor < 0) refuse(file, std::string("cannot be written: ") + std::strerror(errno));
    const bool written =
        ::fchmod(descriptor, mode) == 0 && base::write_all(descriptor, text) && ::fsync(descriptor) == 0;
    const int error = errno;
    ::close(descriptor);
    if (written) return;
    ::unlink(file.c_str());
    refuse(file, std::string("cannot be written: ") + std::strerror(error));
}

std::string existing_text(const std::string& file, const char* expected) {
    const auto text = base::read_text(file, most_key_bytes);
    if (!text) refuse(file, std::string("there is no such file; expected ") + expected);
    return *text;
}

// The 32 bytes behind `word`.
std::array<unsigned char, 32> key_bytes(const std::string& file, const std::string& text, const char* word,
                                        const char* expected) {
    std::istringstream words(text);
    std::string first, second;
    words >> first >> second;
    if (first == secret_word && word == std::string_view(public_word))
        refuse(file, std::string("is a secret key; expected ") + expected + ", whose name ends in .pub");
    if (first == public_word && word == std::string_view(secret_word))
        refuse(file, std::string("is a public key, which signs nothing; expected ") + expected);
    const auto bytes = first == word ? from_base64<32>(second) : std::nullopt;
    if (!bytes)
        refuse(file, std::string("is no key, or it was damaged; expected ") + expected + ": \"" + word +
                         "\" and 44 characters of base64");
    return *bytes;
}

}  // namespace

PublicKey write_new_key(const std::string& file, const std::string& comment) {
    std::error_code ignored;
    if (fs::exists(file + ".pub", ignored))
        refuse(file + ".pub", "it exists, and keys are not replaced; expected the name of a new file");
    const auto key = SecretKey::random();
    const auto open = key.public_key();
    write_new_file(file, std::string(secret_word) + " " + to_base64(key.seed()) + "\n", 0600);
    try {
        write_new_file(file + ".pub",
                       std::string(public_word) + " " + to_base64(open.bytes) +
                           (comment.empty() ? "" : " " + base::printable(comment)) + "\n",
                       0644);
    } catch (const InputError&) {
        ::unlink(file.c_str());
        throw;
    }
    return open;
}

SecretKey read_secret_key(const std::string& file) {
    constexpr const char* expected = "a secret key that `switchyard plugins new-key` wrote";
    const auto text = existing_text(file, expected);
    SecretKey key(key_bytes(file, text, secret_word, expected));
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        refuse(
            file,
            "other users may read or write this secret key; expected one that is yours alone: `chmod 600 " +
                base::printable(file) + "`, or a new key if somebody may have read it");
    return key;
}

PublicKey read_public_key(const std::string& file) {
    constexpr const char* expected = "a public key that `switchyard plugins new-key` wrote";
    return {key_bytes(file, existing_text(file, expected), public_word, expected)};
}

const TrustedKey* TrustedKeys::find(const std::string& wanted) const {
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const TrustedKey& trusted) {
        return fingerprint(trusted.key) == wanted;
    });
    return found == keys.end() ? nullptr : &*found;
}

std::string trusted_key_folder() {
    const auto settings = machine::standard_settings_folder();
    return settings.empty() ? settings : settings + "/trusted-keys";
}

TrustedKeys trusted_keys(const std::vector<std::string>& named) {
    TrustedKeys trusted;
    for (const auto& file : named) trusted.keys.push_back({read_public_key(file), file});
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator at(trusted_key_folder(), error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == ".pub") files.push_back(at->path().string());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        try {
            if (const auto exposed = loader::exposed_because(file); !exposed.empty())
                trusted.left_out.push_back(base::printable(file) + " is not trusted: " + exposed);
            else
                trusted.keys.push_back({read_public_key(file), file});
        } catch (const InputError& problem) {
            trusted.left_out.emplace_back(problem.what());
        }
    }
    return trusted;
}

}  // namespace switchyard::trust
