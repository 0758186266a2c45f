// Nothing that comes from files, their names, plugins or other programs steers the terminal: every command is
// run where all of these try to, on a terminal and into files, and what it prints is searched for what only a
// terminal understands.
// To add a command: its line in `command_lines`; the test fails without one. To add an attack: to `steering`.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/workbench/cli/commands.h"

#include "run_on_terminal.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// Title, color, clear, the same in C1, right to left, backspace, return, delete. No color of ours is among
// them, and no path separator.
const std::string steering =
    "\033]0;owned\007\033[35m\033[2J\xc2\x9b"
    "35m\xe2\x80\xae\b\r\x7f";
const std::string steering_toml = R"(\u001b]0;owned\u0007\u001b[35m\u001b[2J\u009b35m\u202e\b\r\u007f)";
// For a file's name: beginning a line of its own, too, and no UTF-8.
const std::string steering_name = steering + "\nFORGED \xff";

// Own JSON, colors and the code that begins a line anew; anything else that a terminal acts on is a fault.
constexpr std::string_view own_codes[] = {"\033[0m",  "\033[m",   "\033[1m",  "\033[2m",
                                          "\033[31m", "\033[32m", "\033[33m", "\r\033[K"};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// How many bytes the UTF-8 character at the beginning of `text` has; 0: it is none, or one that steers.
std::size_t harmless_character(std::string_view text) {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x80) return byte == '\n' || (byte >= 0x20 && byte != 0x7f) ? 1 : 0;
    const std::size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
    if (size == 0 || size > text.size() ||
        !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size), is_continuation))
        return 0;
    const auto character = text.substr(0, size);
    const bool c1 = byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    const bool turns = (character >= "\xe2\x80\xaa" && character <= "\xe2\x80\xae") ||
                       (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
    return c1 || turns ? 0 : size;
}

// What in `text` steers a terminal, with what stands around it; empty: nothing.
std::string steers(std::string_view text, bool on_terminal) {
    for (std::size_t at = 0; at < text.size();) {
        const auto rest = text.substr(at);
        const auto* const own = std::find_if(std::begin(own_codes), std::end(own_codes),
                                             [&](auto code) { return rest.starts_with(code); });
        const auto size = on_terminal && own != std::end(own_codes) ? own->size() : harmless_character(rest);
        if (size == 0)
            return "byte " + std::to_string(at) + ": " +
                   nlohmann::json(std::string(text.substr(at < 60 ? 0 : at - 60, 120)))
                       .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        if (rest.starts_with("FORGED") && (at == 0 || text[at - 1] == '\n'))
            return "a line that a name began: " + std::string(rest.substr(0, 60));
        at += size;
    }
    return "";
}

class Attack {
public:
    Attack() {
        const auto text = [&](const std::string& plain) { return plain + steering; };
        std::string job = bytes_of(job_.file("job.toml"));
        const std::string labels = "[\"bad\", \"good\"]";
        job.replace(job.find(labels), labels.size(),
                    "[\"bad" + steering_toml + "\", \"good" + steering_toml + "\"]");
        std::string rows = "text\tlabel\n";
        for (int i = 0; i < 60; ++i)
            rows +=
                text("the film is " + std::to_string(i)) + "\t" + text(i % 2 == 1 ? "good" : "bad") + "\n";
        job_.write("rows.tsv", quoted_returns(rows));
        config = job_.write("job" + steering_name + ".toml", job);
        job_.write("arm.sh",
                   "printf '" + octal(steering) + "\\n' >&2; printf '" + octal(steering) + "\\n'; exit 3\n");
        job_.write("arms.toml", job + "\n[[arm]]\nname = \"own" + steering_toml +
                                    "\"\nset = []\n[[arm]]\nname = \"peer" + steering_toml +
                                    "\"\nprogram = [\"sh\", \"arm.sh\"]\n");
        arms = job_.file("arms.toml");
        texts = job_.write("texts" + steering_name + ".tsv",
                           quoted_returns(rows) + "no label\nno UTF-8 \xff\tgood\n");
        folder_of_run = job_.file("run" + steering);
        // Folders of models that no run left: what the run trained, and one that is refused.
        folder_of_model = folder_of_run + "/model";
        folder_of_class = job_.file("class" + steering);
        fs::create_directory(folder_of_class);
        job_.write("class" + steering + "/config.json",
                   "{\"architectures\": [\"Bert" + steering_toml + "\"]}");
        const std::string forging = steering_toml + "\\nFORGED";
        folder_of_type = job_.file("type");
        fs::create_directory(folder_of_type);
        job_.write("type/config.json", "{\"model_type\": \"x" + forging + "\"}");
        folder_of_index = job_.file("index");
        fs::create_directory(folder_of_index);
        job_.write("index/config.json", "{\"model_type\": \"bert\", \"hidden_act\": \"x" + forging + "\"}");
        job_.write("index/model.safetensors.index.json",
                   "{\"weight_map\": {\"a" + forging + "\": \"b" + forging + "\"}}");
        ended = job_.file("ended");
        fs::create_directory(ended);
        job_.write("ended/summary.json", "{\"status\": \"x" + forging + "\"}");
        for (const char* key : {"train.weights", "model.from", "include", "log.command", "data.train"}) {
            const bool list =
                std::string_view("include log.command data.train").find(key) != std::string::npos;
            const auto value = "\"x" + forging + "\"";
            forged.push_back(
                job_.write(key + std::string(".toml"),
                           key + std::string(" = ") + (list ? "[" + value + "]" : value) + "\n"));
        }
        folder_of_runs = job_.file("");
        not_there = job_.file("none" + steering + " \xff");
        fs::create_directory(job_.file("plugins"));
        for (const auto& [from, to] :
             std::map<std::string, std::string>{{"good/libtest_good.so", "liba" + steering_name + ".so"},
                                                {"bad/libtest_steers_terminal.so", "libb.so"}})
            fs::copy_file(build_dir() / "tests/support/plugins" / from, fs::path(job_.file("plugins")) / to);
        good_plugin = job_.file("plugins/liba" + steering_name + ".so");
        key = job_.file("key" + steering_name);
        plugin = job_.write("plugins/libc" + steering_name + ".so", "no library");
        options.environment["SWITCHYARD_PLUGIN_PATH"] = job_.file("plugins");
    }

    std::string config, arms, folder_of_run, folder_of_model, folder_of_class, folder_of_type,
        folder_of_index, folder_of_runs, ended, not_there, plugin, good_plugin, key, texts;
    std::vector<std::string> forged;  // configurations, by the key that holds a line break
    RunOptions options;

private:
    // A carriage return ends a row; what is left of it there is not what is tested here.
    static std::string quoted_returns(std::string text) {
        std::erase(text, '\r');
        return text;
    }
    static std::string octal(const std::string& bytes) {
        std::string text;
        for (const char byte : bytes) {
            char code[8];
            std::snprintf(code, sizeof code, "\\%03o",
                          static_cast<unsigned>(static_cast<unsigned char>(byte)));
            text += code;
        }
        return text;
    }

    TinyJob job_;
};

using Lines = std::vector<Words>;

// Of each command: what goes well and what does not.
std::map<std::string, Lines> command_lines(const Attack& a) {
    const Words steps{"--set", "train.steps=1"};
    const auto with = [](Words words, const Words& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const auto with_each = [](Lines lines, const Words& begin, const std::vector<std::string>& files) {
        for (const auto& file : files) {
            lines.push_back(begin);
            lines.back().push_back(file);
        }
        return lines;
    };
    return {
        {"plan",
         {{"plan", a.config, "--verbose"},
          {"plan", a.not_there},
          {"plan", a.config, "--ranks", "2", "--network", steering},
          {"plan", a.config, "--set", "attention.backend=" + steering}}},
        {"tune", {{"tune", a.config}, {"tune", a.config, "--slot", steering}}},
        {"model",
         {{"model", a.config},
          {"model", a.not_there},
          {"model", a.folder_of_type},
          {"model", a.folder_of_index}}},
        {"diagnose",
         {{"diagnose", a.not_there},
          {"diagnose", a.config, "--set", "data.train=[\"" + steering_toml + "\"]"}}},
        {"data list", {{"data", "list"}, {"data", "list", "--to", steering}}},
        {"data fetch", {{"data", "fetch", steering}}},
        {"data prepare",
         {{"data", "prepare", a.config, "--out", a.folder_of_run}, {"data", "prepare", a.not_there}}},
        {"data train-tokenizer",
         {{"data", "train-tokenizer", a.config, "--out", a.folder_of_run, "--model", steering},
          {"data", "train-tokenizer", a.not_there, "--out", a.folder_of_run}}},
        {"data stats", {{"data", "stats", a.config}, {"data", "stats", a.not_there}}},
        {"data show", {{"data", "show", a.config, "--tokens", "1000"}, {"data", "show", a.not_there}}},
        {"precision", {{"precision", a.config, "--steps", "1"}, {"precision", a.not_there}}},
        {"profile",
         {{"profile", a.config, "--active", "1", "--repeat", "1"},
          {"profile", a.not_there},
          {"profile", a.config, "--lengths", steering}}},
        {"train",
         {with({"train", a.config, "--run", a.folder_of_run}, steps),
          {"train", a.not_there, "--run", a.folder_of_run},
          {"train", a.forged.front(), "--run", a.not_there}}},
        {"evaluate",
         {{"evaluate", a.folder_of_run, steering_name},
          {"evaluate", a.not_there, "rows.tsv"},
          {"evaluate", a.folder_of_model, a.texts, "--set", "data.bad_row=skip"},
          {"evaluate", a.folder_of_class, a.texts},
          {"evaluate", a.folder_of_class + "@best", a.texts}}},
        {"predict",
         {{"predict", a.folder_of_run, steering_name, "a film"},
          {"predict", a.folder_of_run, "--from", a.texts},
          {"predict", a.folder_of_run, "--from", a.texts, "--jsonl", "-"},
          {"predict", a.folder_of_run, "--from", a.texts, "--text-column", steering},
          {"predict", a.folder_of_run, "--from", a.not_there, "--format", steering},
          {"predict", a.folder_of_model, "a film"},
          {"predict", a.folder_of_class, "a film"},
          {"predict", a.folder_of_type, "a film"},
          {"predict", a.folder_of_index, "a film"},
          {"predict", a.not_there, "text"}}},
        {"generate",
         {{"generate", a.folder_of_run},
          {"generate", a.folder_of_run, "--from", a.texts},
          {"generate", a.folder_of_model},
          {"generate", a.folder_of_run, "--draft", a.not_there},
          {"generate", a.folder_of_run, "--prompt", "@" + a.not_there},
          {"generate", a.not_there}}},
        {"embed",
         {{"embed", a.folder_of_run, steering_name, "a film"},
          {"embed", a.folder_of_run, "--from", a.texts},
          {"embed", a.folder_of_run, "--from", a.texts, "--jsonl", "-"},
          {"embed", a.folder_of_model, "a film"},
          {"embed", a.folder_of_run, "a film", "--out", a.not_there + ".npy"},
          {"embed", a.not_there, "text"}}},
        {"quantize",
         {{"quantize", a.folder_of_run, "--method", "dynamic", "--out",
           a.folder_of_runs + "/" + steering_name},
          {"quantize", a.folder_of_class, "--method", "static", "--eval", a.texts, "--out", a.not_there},
          {"quantize", a.folder_of_run, "--method", "dynamic", "--skip", steering, "--out", a.not_there},
          {"quantize", a.folder_of_model, "--method", "weight-int4", "--calibrate", a.texts, "--out",
           a.folder_of_runs},
          {"quantize", a.not_there, "--method", steering, "--out", a.not_there}}},
        {"report",
         {{"report", a.folder_of_run, "--html", a.folder_of_run + "/page.html"}, {"report", a.not_there}}},
        {"init",
         {{"init", a.texts, "--out", a.folder_of_runs + "/init" + steering_name + ".toml"},
          {"init", a.texts, "--from", a.folder_of_run},
          {"init", a.not_there}}},
        {"merge",
         {{"merge", a.folder_of_run, a.not_there},
          {"merge", a.not_there, a.not_there, "--base", a.not_there}}},
        {"runs",
         {{"runs", a.folder_of_runs},
          {"runs", a.ended},
          {"runs", a.folder_of_runs, "--sort", steering},
          {"runs", a.not_there}}},
        {"fit",
         {{"fit", a.not_there},
          {"fit", a.config, "--memory", steering},
          {"fit", a.config, "--lengths", steering}}},
        {"bench", {{"bench", "activation", "--backends", steering}, {"bench", steering}}},
        {"bench inference",
         {{"bench", "inference", a.not_there},
          {"bench", "inference", a.folder_of_run, "--length", steering},
          {"bench", "inference", a.folder_of_run, "--vary", "linear.backend=torch," + steering},
          {"bench", "inference", a.folder_of_run, "--arm", steering + ": " + a.not_there}}},
        {"bench ranks",
         {{"bench", "ranks"},
          {"bench", "ranks", "--megabytes", steering},
          {"bench", "ranks", "--set", steering}}},
        {"compare",
         {{"compare", a.arms, "--blocks", "2", "--steps-per-block", "1", "--time", "0.5"},
          {"compare", a.config, "--arm", steering},
          {"compare", a.arms, "--fail-on", steering},
          {"compare", "--ladder", a.not_there},
          {"compare", "--ladder", a.config, "--scale", steering},
          {"compare", a.arms, "--baseline", a.not_there}}},
        {"compare self-test",
         {{"compare", "self-test", a.not_there}, {"compare", "self-test", a.config, "--replays", steering}}},
        {"launch",
         {{"launch", "-n", "2", "train", a.config, "--set", steering},
          {"launch", "-n", steering, "train", a.not_there},
          {"launch", steering}}},
        {"plugins list", {{"plugins", "list"}}},
        {"plugins info",
         {{"plugins", "info", a.plugin}, {"plugins", "info", "test_good"}, {"plugins", "info", steering}}},
        {"plugins doctor", {{"plugins", "doctor"}, {"plugins", "doctor", a.config}}},
        {"plugins new",
         {{"plugins", "new", steering, "--kind", "loss"}, {"plugins", "new", "x", "--kind", steering}}},
        {"plugins install", {{"plugins", "install", a.plugin}, {"plugins", "install", a.not_there}}},
        {"plugins remove", {{"plugins", "remove", steering}}},
        {"plugins new-key",
         {{"plugins", "new-key", a.key, "--comment", steering}, {"plugins", "new-key", a.key}}},
        {"plugins sign",
         {{"plugins", "sign", a.good_plugin, "--key", a.key},
          {"plugins", "sign", a.plugin, "--key", a.config},
          {"plugins", "sign", a.not_there, "--key", a.not_there}}},
        {"plugins verify-signature",
         {{"plugins", "verify-signature", a.good_plugin},
          {"plugins", "verify-signature", a.good_plugin, "--key", a.key + ".pub"},
          {"plugins", "verify-signature", a.folder_of_runs},
          {"plugins", "verify-signature", a.plugin, "--key", a.not_there}}},
        {"plugins lock",
         {{"plugins", "lock", a.config, "--output", a.key + ".lock"},
          {"plan", a.config, "--locked"},
          {"plugins", "lock", a.not_there}}},
        {"plugins bisect", {{"plugins", "bisect", a.not_there, a.not_there}}},
        {"plugins verify", {{"plugins", "verify", a.plugin}, {"plugins", "verify", a.not_there}}},
        {"config show", {{"config", "show", a.config, "--origin"}, {"config", "show", a.not_there}}},
        {"config schema", {{"config", "schema", steering}, {"config", "schema"}}},
        {"config check",
         with_each({{"config", "check", a.config}, {"config", "check", a.config, "--set", steering}},
                   {"config", "check"}, a.forged)},
        {"version", {{"version"}, {"version", steering}, {steering}, {"help", steering}}},
    };
}

std::string shown(const Words& words) {
    return nlohmann::json(words).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void check_harmless(const Attack& attack, const Words& words) {
    INFO(shown(words));
    // Twice the same run folder would be refused, so it is done on the terminal first and goes on in the
    // files.
    const auto seen = run_on_terminal(words, attack.options);
    CHECK(steers(seen.out, true) == "");
    CHECK(seen.code >= 0);
    const auto written = run(words, attack.options);
    CHECK(steers(written.out, false) == "");
    CHECK(steers(written.err, false) == "");
    CHECK(written.code >= 0);
}

}  // namespace

TEST_CASE("no command lets foreign text steer the terminal") {
    const Attack attack;
    const auto lines = command_lines(attack);
    std::set<std::string> untested;
    for (const auto& command : cli::all_commands()) {
        if (!lines.contains(std::string(command.path))) untested.insert(std::string(command.path));
    }
    CHECK(untested == std::set<std::string>{});
    check_harmless(attack, lines.at("train").front());  // predict, generate and report ask for its run
    for (const auto& [command, all] : lines) {
        if (command != "train") {
            for (const auto& words : all) check_harmless(attack, words);
        }
    }
    for (std::size_t i = 1; i < lines.at("train").size(); ++i) check_harmless(attack, lines.at("train")[i]);
}

TEST_CASE("JSON on the standard output stays JSON, and harmless") {
    const Attack attack;
    for (const auto& words :
         Lines{{"plugins", "list"}, {"config", "show", attack.config}, {"model", attack.config}}) {
        const auto json = run_json(words, 0, attack.options);
        auto again = words;
        again.insert(again.end(), {"--json", "-"});
        const auto text = run(again, attack.options).out;
        CHECK(steers(text, false) == "");
        CHECK(nlohmann::json::parse(text) == json);
    }
    const auto shown = run_json({"config", "show", attack.config}, 0, attack.options);
    CHECK(shown["values"]["task.labels"]["value"][0] ==
          nlohmann::json::parse("\"bad" + steering_toml + "\""));
}

TEST_CASE("a configuration that is shown can be read again, whatever is in its texts") {
    const Attack attack;
    const auto text = run({"config", "show", attack.config, "--origin"}, attack.options).out;
    const auto again = write_temporary("again.toml", text);
    const auto values = [&](const std::string& config) {
        std::map<std::string, nlohmann::json> all;
        const auto json = run_json({"config", "show", config}, 0, attack.options);
        for (const auto& [key, setting] : json["values"].items()) all[key] = setting["value"];
        return all;
    };
    CHECK(values(again) == values(attack.config));
}

TEST_CASE("what finds a text that steers does find it") {
    CHECK(steers("all is well: 熊 ä\n", false) == "");
    CHECK(steers("\033[32mgood\033[0m", true) == "");
    for (const char* text : {"\033[32m", "\033[35m", "\a",
                             "\xc2\x9b"
                             "1m",
                             "\xe2\x80\xae", "\xff", "\x7f", "\r", "\xe7\x86"})
        CHECK(steers(text, false) != "");
    CHECK(steers("\033[35m", true) != "");
    CHECK(steers("x\nFORGED", false) != "");
}
