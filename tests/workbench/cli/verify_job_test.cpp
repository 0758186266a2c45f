// switchyard plugins verify --config: the components, options and requests of a plan; and --junit.
#include "run_switchyard.h"

#include "count_of.h"
#include "json_schema.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

// A tiny decoder, with the plugins of tests beside the others.
std::string job_file(const std::filesystem::path& folder, const std::string& slots) {
    const auto file = (folder / "job.toml").string();
    std::ofstream(file) << R"([model]
type = "gpt"
layers = 2
hidden_size = 32
heads = 4
intermediate_size = 64
vocab_size = 64
max_positions = 40
[task]
kind = "causal_lm"
[run]
phases = ["eval"]
[runtime]
auto = "priority"
[plugins]
paths = [")" << (build_dir() / "tests/support/plugins/errs").string()
                        << "\"]\n"
                        << slots;
    return file;
}

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("what a plan runs is verified with its options, at its sizes and masks") {
    const auto folder = temporary_dir("verify_job");
    const auto job = job_file(folder,
                              "[attention]\nbackend = \"chunked\"\n"
                              "[attention.options.chunked]\nchunk_size = 7\n");
    const auto junit = (folder / "junit.xml").string();
    const std::vector<std::string> arguments{"plugins", "verify", "--config", job,       "--drawn",
                                             "2",       "--seed", "4",        "--junit", junit};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("attention chunked/chunked: 2 cases, 0 failed"));
    CHECK_THAT(text.out, contains("\n    decoder.0-1 attention, eval\n"));
    CHECK_THAT(text.out, contains("attention/padded/causal"));
    CHECK_THAT(text.out, contains("H4K4"));

    const auto json = run_json(arguments);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    std::set<std::string> kinds;
    std::size_t cases = 0;
    for (const auto& component : json.at("components")) {
        kinds.insert(component.at("kind").get<std::string>());
        cases += component.at("cases").get<std::size_t>();
        CHECK_FALSE(component.at("uses").empty());
        if (component.at("kind") == "attention") CHECK(component.at("options").at("chunk_size") == 7);
    }
    for (const char* kind : {"attention", "normalization", "activation", "linear", "loss"})
        CHECK(kinds.contains(kind));
    const auto xml = text_of(junit);
    CHECK(count_of(xml, "<testcase ") == cases);
    CHECK_THAT(xml, contains("failures=\"0\" errors=\"0\" skipped=\"0\""));
    CHECK_THAT(xml,
               contains("<testcase classname=\"attention.chunked/chunked\" name=\"attention/padded/causal"));

    const auto one =
        run_json({"plugins", "verify", "chunked", "--config", job, "--drawn", "1", "--seed", "4"});
    CHECK(one.at("components").size() == 1);
}

TEST_CASE("a kernel that is wrong for the job is told, with the command that shows it again") {
    const auto folder = temporary_dir("verify_job");
    const auto job = job_file(folder, "[attention]\nbackend = \"test_errs/unmasked\"\n");
    const auto junit = (folder / "junit.xml").string();
    const std::vector<std::string> arguments{"plugins", "verify", "test_errs", "--config", job,
                                             "--seed",  "2",      "--junit",   junit};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 5);
    CHECK_THAT(text.out, contains("repeat it: switchyard plugins verify test_errs --config " + job +
                                  " --component attention/unmasked --seed 2 --drawn 12 --filter "));
    const auto json = run_json(arguments, 5);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    const auto& component = json.at("components").at(0);
    const auto xml = text_of(junit);
    CHECK(count_of(xml, "<failure type=\"wrong_output\"") == component.at("failed").get<std::size_t>());
    CHECK(count_of(xml, "<testcase ") == component.at("cases").get<std::size_t>());

    std::istringstream words(component.at("faults").at(0).at("repeat").get<std::string>());
    std::vector<std::string> again;
    for (std::string word; words >> word;) again.push_back(word);
    again.erase(again.begin());  // the program
    const auto repeated = run_json(again, 5).at("components").at(0);
    CHECK(repeated.at("cases") == 1);
    CHECK(repeated.at("faults").at(0) == component.at("faults").at(0));
}

TEST_CASE("JUnit has a case for each that ran, one for those that are not served, and errors of plugins") {
    const auto folder = temporary_dir("verify_job");
    const auto junit = (folder / "junit.xml").string();
    const auto json = run_json({"plugins", "verify", "naive", "--component", "activation", "--dtype",
                                "float32", "--drawn", "2", "--seed", "4", "--junit", junit});
    const auto& component = json.at("components").at(0);
    const auto xml = text_of(junit);
    const auto skipped = component.at("skipped") > 0 ? 1U : 0U;
    CHECK(count_of(xml, "<testcase ") == component.at("cases").get<std::size_t>() + skipped);
    CHECK(count_of(xml, "<skipped ") == skipped);
    CHECK_THAT(xml, contains("name=\"drawn/1\"/>"));

    const auto library = (folder / "libbroken.so").string();
    std::ofstream(library) << "this is no library";
    CHECK(run({"plugins", "verify", library, "--junit", junit}).code == 1);
    CHECK_THAT(text_of(junit), contains("tests=\"1\" failures=\"0\" errors=\"1\""));
    CHECK_THAT(text_of(junit), contains("refused at gate manifest"));
}

TEST_CASE("what does not go with a configuration is refused") {
    const auto job = job_file(temporary_dir("verify_job"), "");
    const auto refused = [&](std::vector<std::string> arguments, const std::string& text) {
        arguments.insert(arguments.begin(), {"plugins", "verify"});
        const auto outcome = run(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains(text));
    };
    refused({"--set", "a=1"}, "--set: is of a configuration; expected --config CONFIG beside it");
    refused({"--config", job, "--dtype", "float32"}, "--dtype: the configuration says that");
    refused({"--config", job, "--option", "chunk_size=3"},
            "--option: the configuration says that; expected --set KIND.options.ID.NAME=VALUE");
    refused({"--config", job, "--report", "record.json"}, "--report: --config runs the cases of one job");
    refused({"naive", "--config", job, "--component", "precision"},
            "nothing of its plan is of plugin naive component precision");
    refused({"--config", job, "--set", "attention.backend=nothing"}, "nothing");
    refused({"--config", "/nowhere.toml"}, "/nowhere.toml");
}
