// Files of keys: what is written comes back, and what is no key, missing, or open to others is refused.
#include "core/kernel/trust/key_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "trust_fixture.h"
#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
namespace fs = std::filesystem;

namespace {

template <class Call>
std::string key_refusal(const Call& call) {
    try {
        call();
    } catch (const base::InputError& error) {
        return error.what();
    }
    return "";
}

mode_t mode_of(const std::string& file) {
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a new key signs, and its files are the owner's alone and everybody's") {
    const auto file = (temporary_dir("key") / "signing-key").string();
    const auto open = trust::write_new_key(file, "Ada");
    CHECK(mode_of(file) == 0600);
    CHECK(mode_of(file + ".pub") == 0644);
    CHECK(trust::read_public_key(file + ".pub") == open);
    const auto secret = trust::read_secret_key(file);
    CHECK(secret.public_key() == open);
    CHECK_THAT(read_file(file + ".pub"), contains(" Ada\n"));
    // The public file has nothing of the secret.
    CHECK(read_file(file + ".pub").find(trust::to_base64(secret.seed())) == std::string::npos);
}

TEST_CASE("a key is not replaced, and half of one is not left") {
    const auto file = (temporary_dir("key") / "key").string();
    trust::write_new_key(file, "");
    const auto before = read_file(file);
    CHECK_THAT(key_refusal([&] { trust::write_new_key(file, ""); }), contains("keys are not replaced"));
    CHECK(read_file(file) == before);
    fs::remove(file);
    CHECK_THAT(key_refusal([&] { trust::write_new_key(file, ""); }), contains(".pub: error: it exists"));
    CHECK_FALSE(fs::exists(file));
    CHECK_THAT(key_refusal([&] { trust::write_new_key(file + "/no/such/folder", ""); }),
               contains("cannot be written"));
}

TEST_CASE("a secret key that others may read is refused, with what to do") {
    const auto file = (temporary_dir("key") / "key").string();
    trust::write_new_key(file, "");
    for (const mode_t mode : {0640, 0604, 0620, 0666}) {
        REQUIRE(::chmod(file.c_str(), mode) == 0);
        const auto why = key_refusal([&] { trust::read_secret_key(file); });
        CHECK_THAT(why, contains(file + ": error: other users may read or write this secret key"));
        CHECK_THAT(why, contains("chmod 600"));
    }
}

TEST_CASE("what is no key is refused by its name") {
    const auto folder = temporary_dir("key");
    const auto file = (folder / "key").string();
    trust::write_new_key(file, "");
    CHECK_THAT(key_refusal([&] { trust::read_secret_key(file + "x"); }), contains("there is no such file"));
    CHECK_THAT(key_refusal([&] { trust::read_public_key(file + "x"); }), contains("there is no such file"));
    CHECK_THAT(key_refusal([&] { trust::read_public_key(file); }),
               contains("is a secret key; expected a public key"));
    CHECK_THAT(key_refusal([&] { trust::read_secret_key(file + ".pub"); }),
               contains("is a public key, which signs"));
    CHECK_THAT(key_refusal([&] { trust::read_public_key(folder.string()); }), contains("error: "));
    auto text = read_file(file + ".pub");
    for (const std::string& damaged :
         {std::string(), text.substr(0, 40), std::string("ssh-ed25519 AAAA"), std::string(5000, 'a')}) {
        write_file(file + ".pub", damaged);
        const auto why = key_refusal([&] { trust::read_public_key(file + ".pub"); });
        CHECK_THAT(why, contains(file + ".pub: error: "));
        CHECK(why.find(trust::to_base64(trust::read_secret_key(file).seed())) == std::string::npos);
    }
}

TEST_CASE("the user's folder has trusted keys, and what is none there is left out and told") {
    const auto settings = temporary_dir("settings");
    const Variable variable("XDG_CONFIG_HOME", settings.string());
    CHECK(trust::trusted_key_folder() == settings.string() + "/switchyard/trusted-keys");
    CHECK(trust::trusted_keys({}).keys.empty());
    const fs::path folder = trust::trusted_key_folder();
    fs::create_directories(folder);
    trust::write_new_key((settings / "ada").string(), "");
    fs::copy_file(settings / "ada.pub", folder / "ada.pub");
    fs::copy_file(settings / "ada.pub", folder / "open.pub");
    fs::permissions(folder / "open.pub", fs::perms::others_write, fs::perm_options::add);
    write_file((folder / "damaged.pub").string(), "switchyard-ed25519 ????\n");
    write_file((folder / "notes.txt").string(), "no key at all");
    const auto keys = trust::trusted_keys({});
    REQUIRE(keys.keys.size() == 1);
    CHECK(keys.keys[0].file == (folder / "ada.pub").string());
    REQUIRE(keys.left_out.size() == 2);
    CHECK_THAT(keys.left_out[0], contains("damaged.pub: error: is no key"));
    CHECK_THAT(keys.left_out[1], contains("open.pub is not trusted: "));
    CHECK(keys.find(trust::fingerprint(keys.keys[0].key)) == keys.keys.data());
    CHECK(keys.find("SHA256:other") == nullptr);
    // Those that a configuration names have to be there.
    CHECK_THAT(key_refusal([&] { trust::trusted_keys({(settings / "none.pub").string()}); }),
               contains("none.pub: error: there is no such file"));
    CHECK(trust::trusted_keys({(settings / "ada.pub").string()}).keys.size() == 2);
}
