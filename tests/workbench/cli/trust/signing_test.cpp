// switchyard plugins new-key, sign, verify-signature, and what install and remove do with signatures.
#include "json_schema.h"
#include "signed_job.h"

#include <sys/stat.h>

#include <fstream>

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("a plugin is signed, verified by its key, and by those that the user trusts") {
    const SignedJob one;
    const auto refused = run({"plugins", "verify-signature", one.library}, one.options);
    CHECK(refused.code == 1);
    CHECK_THAT(refused.out, contains("test_good 1.2.3: it is not signed\n    what to do: "));
    const auto signing = run({"plugins", "sign", one.library, "--key", one.key}, one.options);
    CHECK(signing.code == 0);
    CHECK_THAT(signing.out, contains("test_good 1.2.3: signed by SHA256:"));
    CHECK_THAT(signing.out, contains(" in " + one.signature));
    const auto by_key =
        run({"plugins", "verify-signature", one.library, "--key", one.key + ".pub"}, one.options);
    CHECK(by_key.code == 0);
    CHECK_THAT(by_key.out, contains("(key.pub)"));
    const auto unknown = run({"plugins", "verify-signature", one.library}, one.options);
    CHECK(unknown.code == 1);
    CHECK_THAT(unknown.out,
               contains("it is signed by a key that you do not trust; expected one of your trusted "
                        "keys: there are none, got SHA256:"));
    one.trust_key();
    const auto folder = fs::path(one.library).parent_path().string();
    const auto trusted = run({"plugins", "verify-signature", folder}, one.options);
    CHECK(trusted.code == 0);
    CHECK_THAT(trusted.out, contains("(test.pub)"));
}

TEST_CASE("what is found of signatures is written as JSON, for the good and for the others") {
    const SignedJob one;
    const Words words{"plugins", "verify-signature", one.library};
    const auto look = [&](int code) {
        const auto json = run_json(words, code, one.options);
        CHECK(schema_faults("plugins_verify_signature.json", json) == no_faults);
        CHECK(json.at("good") == (code == 0));
        REQUIRE(json.at("plugins").size() == 1);
        return json.at("plugins").at(0);
    };
    const auto bare = look(1);
    CHECK(bare.at("reason") == "it is not signed");
    CHECK(bare.at("signer") == "");
    CHECK(bare.at("path") == one.library);
    one.sign();
    CHECK_THAT(look(1).at("reason").get<std::string>(), contains("a key that you do not trust"));
    one.trust_key();
    const auto good = look(0);
    CHECK_THAT(good.at("signer").get<std::string>(), contains("(test.pub)"));
    CHECK(good.at("reason") == "");
}

TEST_CASE("a changed library, a changed signature and another's key are told apart") {
    const SignedJob one;
    one.trust_key();
    one.sign();
    const auto verified = [&] { return run({"plugins", "verify-signature", one.library}, one.options); };
    REQUIRE(verified().code == 0);
    one.change_library();
    CHECK(verified().code == 1);
    CHECK_THAT(verified().out, contains("its library was changed after it was signed; expected sha256:"));
    one.sign();
    REQUIRE(verified().code == 0);
    auto text = bytes_of(one.signature);
    text.replace(text.find("1.2.3"), 5, "1.2.4");
    one.job.write("copy.sig", text);
    fs::copy_file(one.job.file("copy.sig"), one.signature, fs::copy_options::overwrite_existing);
    CHECK(verified().code == 1);
    CHECK_THAT(verified().out, contains("its signature is not by the key that it names"));
    const SignedJob other;
    one.sign();
    const auto wrong =
        run({"plugins", "verify-signature", one.library, "--key", other.key + ".pub"}, one.options);
    CHECK(wrong.code == 1);
    CHECK_THAT(wrong.out, contains("it is signed by a key that you do not trust"));
}

TEST_CASE("a record of conformance that is not the signed one is told of") {
    const SignedJob one;
    one.trust_key();
    const auto record = one.library + ".conformance.json";
    std::ofstream(record) << "{}";
    one.sign();
    const auto verified = [&] { return run({"plugins", "verify-signature", one.library}, one.options); };
    CHECK(verified().code == 0);
    CHECK_THAT(verified().out, contains(", with its record of conformance"));
    std::ofstream(record) << "{ }";
    CHECK(verified().code == 1);
    CHECK_THAT(verified().out, contains("its record of conformance was changed after it was signed"));
    fs::remove(record);
    CHECK(verified().code == 1);
    CHECK_THAT(verified().out, contains("its record of conformance, which is signed, is missing"));
}

TEST_CASE("keys and places that cannot be used are refused, and nothing is written") {
    const SignedJob one;
    check_refused(run({"plugins", "sign", one.library, "--key", one.key + "x"}, one.options),
                  {one.key + "x: error: there is no such file; expected a secret key"});
    check_refused(run({"plugins", "sign", one.library, "--key", one.key + ".pub"}, one.options),
                  {"is a public key, which signs nothing"});
    check_refused(run({"plugins", "sign", one.library, "--key", one.job.file("")}, one.options), {"error: "});
    check_refused(run({"plugins", "sign", one.library + "x", "--key", one.key}, one.options),
                  {"there is no such file; expected a plugin's library, or a folder of them"});
    check_refused(run({"plugins", "sign", one.job.file("rows.tsv"), "--key", one.key}, one.options),
                  {"rows.tsv"});
    check_refused(run({"plugins", "sign", one.job.file(""), "--key", one.key}, one.options),
                  {"has no plugins"});
    check_refused(run({"plugins", "verify-signature", one.library, "--key", one.key}, one.options),
                  {"is a secret key; expected a public key"});
    check_refused(run({"plugins", "new-key", one.key}, one.options), {"keys are not replaced"});
    REQUIRE(::chmod(one.key.c_str(), 0644) == 0);
    check_refused(run({"plugins", "sign", one.library, "--key", one.key}, one.options),
                  {one.key + ": error: other users may read or write this secret key", "chmod 600"});
    CHECK_FALSE(fs::exists(one.signature));
}

TEST_CASE("installing takes the signature along, and removing takes it away") {
    const SignedJob one;
    one.trust_key();
    one.sign();
    auto options = one.options;
    options.environment["HOME"] = temporary_dir("home").string();
    const fs::path folder = options.environment["HOME"] + "/.local/lib/switchyard/plugins";
    // An older one's library for CUDA, which the signature does not cover, goes.
    fs::create_directories(folder);
    std::ofstream(folder / "libtest_good_cuda.so") << "older";
    REQUIRE(run({"plugins", "install", one.library}, options).code == 0);
    CHECK_FALSE(fs::exists(folder / "libtest_good_cuda.so"));
    CHECK(run({"plugins", "verify-signature", folder.string()}, options).code == 0);
    fs::remove(one.signature);
    REQUIRE(run({"plugins", "install", one.library}, options).code == 0);
    CHECK_FALSE(fs::exists(folder / "libtest_good.so.sig"));  // it would be one of the library before
    one.sign();
    REQUIRE(run({"plugins", "install", one.library}, options).code == 0);
    REQUIRE(run({"plugins", "remove", "test_good"}, options).code == 0);
    CHECK(fs::is_empty(folder));
}
