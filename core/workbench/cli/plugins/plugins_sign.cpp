// switchyard plugins new-key FILE, switchyard plugins sign FILE|FOLDER --key FILE and
// switchyard plugins verify-signature FILE|FOLDER
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/kernel/trust/plugin_signature.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugin_places.h"

namespace switchyard::cli {
namespace {

struct SignOptions {
    std::string place;
    std::string key;
};

std::string title_of(const loader::PluginRecord& record) {
    return base::quoted(record.manifest->name + " " + record.manifest->version);
}

int new_key(const std::string& file, const std::string& comment) {
    std::error_code ignored;  // writing the file says what is wrong
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
    const auto key = trust::write_new_key(file, comment);
    const auto name = base::printable(file);
    std::cout << name << ": the secret key, which only you can read: keep it, and give it to nobody\n"
              << name << ".pub: the public key " << trust::fingerprint(key)
              << "; whoever trusts it puts it into " << base::printable(trust::trusted_key_folder()) << "\n";
    return Exit::fine;
}

int sign(const SignOptions& options) {
    const auto key = trust::read_secret_key(options.key);
    const auto records = plugins_at(options.place);
    // All are read before any is signed.
    std::vector<trust::PluginSignature> signatures;
    for (const auto& record : records) signatures.push_back(trust::sign(record.path, *record.manifest, key));
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto file = trust::signature_file_of(records[i].path);
        write_file(file, trust::to_json_text(signatures[i]));
        std::cout << title_of(records[i]) << ": signed by " << signatures[i].key << " in "
                  << base::printable(file)
                  << (signatures[i].record.empty() ? "" : ", with its record of conformance") << '\n';
    }
    return Exit::fine;
}

nlohmann::ordered_json json_of(const loader::PluginRecord& record, const trust::SignatureCheck& check) {
    return {{"name", record.manifest->name},
            {"version", record.manifest->version},
            {"path", record.path},
            {"good", check.good},
            {"signer", check.signer},
            {"record", check.record},
            {"reason", check.reason},
            {"expected", check.expected},
            {"got", check.got},
            {"hint", check.hint}};
}

void print(const loader::PluginRecord& record, const trust::SignatureCheck& check) {
    std::cout << title_of(record) << ": ";
    if (check.good) {
        std::cout << paint(Color::green, "signed by " + check.signer)
                  << (check.record.empty() ? "" : ", with its record of conformance") << '\n';
        return;
    }
    std::cout << paint(Color::red, check.reason);
    if (!check.expected.empty()) std::cout << "; expected " << check.expected;
    if (!check.got.empty()) std::cout << ", got " << check.got;
    std::cout << "\n    " << paint(Color::yellow, "what to do: " + check.hint) << '\n';
}

int verify_signature(const SignOptions& options, const JsonOption& json) {
    trust::TrustedKeys keys;
    if (options.key.empty())
        keys = trust::trusted_keys({});
    else
        keys.keys.push_back({trust::read_public_key(options.key), options.key});
    bool all = true;
    auto list = nlohmann::ordered_json::array();
    for (const auto& record : plugins_at(options.place)) {
        const auto check = trust::check_signature_and_record(record.path, *record.manifest, keys);
        all = all && check.good;
        list.push_back(json_of(record, check));
        if (!json.on_stdout()) print(record, check);
    }
    write_json(json, {{"good", all}, {"plugins", list}});
    return all ? Exit::fine : Exit::run_failed;
}

void add_place(CLI::App& command, SignOptions& options) {
    command.add_option("FILE|FOLDER", options.place, "a plugin's library, or a folder of them")
        ->required()
        ->type_name("");
}

}  // namespace

Action setup_plugins_new_key(CLI::App& command) {
    struct Options {
        std::string file, comment;
    };
    const auto options = std::make_shared<Options>();
    command.add_option("FILE", options->file, "where the secret key goes; the public one goes into FILE.pub")
        ->required()
        ->type_name("");
    command.add_option("--comment", options->comment, "whose key it is, for those who read the public one")
        ->type_name("TEXT");
    return [options] { return new_key(options->file, options->comment); };
}

Action setup_plugins_sign(CLI::App& command) {
    const auto options = std::make_shared<SignOptions>();
    add_place(command, *options);
    command.add_option("--key", options->key, "file of the secret key")->required()->type_name("FILE");
    return [options] { return sign(*options); };
}

Action setup_plugins_verify_signature(CLI::App& command) {
    const auto options = std::make_shared<SignOptions>();
    add_place(command, *options);
    command
        .add_option("--key", options->key,
                    "file of the public key that it must be signed by; default: one of those in "
                    "~/.config/switchyard/trusted-keys")
        ->type_name("FILE.pub");
    const auto json = std::make_shared<JsonOption>();
    add_json(command, *json);
    return [options, json] { return verify_signature(*options, *json); };
}

}  // namespace switchyard::cli
