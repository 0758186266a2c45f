#include "signed_job.h"

#include <fstream>

#include <switchyard_test.h>

namespace switchyard::test {

SignedJob::SignedJob() {
    const auto plugins = temporary_dir("plugins"), settings = temporary_dir("settings");
    library = (plugins / "libtest_good.so").string();
    signature = library + ".sig";
    fs::copy_file(build_dir() / "tests/support/plugins/good/libtest_good.so", library);
    // Another content for each: nothing is known of it from others.
    static int number = 0;
    std::ofstream(library, std::ios::binary | std::ios::app)
        << std::string(static_cast<std::size_t>(++number), '\0');
    options.environment["SWITCHYARD_PLUGIN_PATH"] =
        plugins.string() + ":" + (build_dir() / "lib/switchyard/plugins").string();
    options.environment["XDG_CONFIG_HOME"] = settings.string();
    key = (settings / "key").string();
    const auto made = run({"plugins", "new-key", key, "--comment", "a test"}, options);
    INFO(made.err);
    REQUIRE(made.code == 0);
}

Words SignedJob::with_plugin(const Words& begin, const Words& sets) const {
    auto words = with(begin, {"--set", "activation.backend=by_autograd", "--set", "model.activation=relu"});
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    return words;
}

void SignedJob::trust_key() const {
    const auto folder = fs::path(key).parent_path() / "switchyard/trusted-keys";
    fs::create_directories(folder);
    fs::copy_file(key + ".pub", folder / "test.pub", fs::copy_options::overwrite_existing);
}

void SignedJob::sign() const {
    const auto outcome = run({"plugins", "sign", library, "--key", key}, options);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
}

void SignedJob::change_library() const {
    std::fstream file(library, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(48);  // e_flags, which mean nothing on x86-64
    file.put(1);
    REQUIRE(file.good());
}

}  // namespace switchyard::test
