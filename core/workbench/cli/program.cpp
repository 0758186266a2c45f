#include "core/workbench/cli/program.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>

#include <CLI/CLI.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/cli/data/data_sets.h"
#include "core/workbench/cli/error_text.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using Words = std::vector<std::string>;

bool is_help(const std::string& word) { return word == "-h" || word == "--help"; }

std::string first_word(std::string_view path) { return std::string(path.substr(0, path.find(' '))); }

std::string last_word(std::string_view path) { return std::string(path.substr(path.rfind(' ') + 1)); }

bool is_group(const std::vector<Command>& commands, const std::string& word) {
    return std::any_of(commands.begin(), commands.end(),
                       [&](const Command& c) { return c.path.starts_with(word + ' '); });
}

const Command* find(const std::vector<Command>& commands, const std::string& path) {
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.path == path; });
    return found == commands.end() ? nullptr : &*found;
}

// Of all commands, or of one group.
std::string help(const std::vector<Command>& commands, const std::string& group) {
    std::string text = group.empty() ? "Switchyard: transformers whose parts are chosen at run "
                                       "time\n\nUsage: switchyard COMMAND ...\n\n"
                                     : "Usage: switchyard " + group + " COMMAND ...\n\n";
    std::size_t width = 0;
    for (const auto& command : commands) width = std::max(width, command.path.size());
    std::string examples;
    for (const auto& command : commands) {
        if (!command.for_people) continue;
        if (!group.empty() && first_word(command.path) != group) continue;
        std::string path(command.path);
        path.resize(width, ' ');
        text.append("  ").append(path).append("  ").append(command.summary).append("\n");
        examples.append("  ").append(command.examples.front()).append("\n");
    }
    text += "\nExamples:\n" + examples + "\n`switchyard help COMMAND` shows the options of a command.\n";
    return text;
}

[[noreturn]] void unknown_command(const std::vector<Command>& commands, const std::string& group,
                                  const std::string& word) {
    Words known;
    for (const auto& command : commands) {
        if (!command.for_people) continue;
        if (group.empty())
            known.push_back(first_word(command.path));
        else if (first_word(command.path) == group)
            known.push_back(last_word(command.path));
    }
    const auto near = word == "help" ? "" : config::suggest(word, known);
    const auto prefix = group.empty() ? "" : group + " ";
    throw Failure("there is no command \"" + prefix + base::quoted(word) + "\"" +
                  (near.empty() ? "" : "; did you mean \"" + prefix + near + "\"?") + "\n`switchyard help" +
                  (group.empty() ? "" : " " + group) + "` lists all commands");
}

Words option_names(const CLI::App& app) {
    Words list;
    for (const auto* option : app.get_options()) {
        for (const auto& name : option->get_lnames()) list.push_back("--" + name);
    }
    return list;
}

// CLI11 says what is wrong; what was meant is ours.
std::string told(const CLI::ParseError& error, const CLI::App& app, const Words& arguments) {
    const std::string advice = "\n`" + app.get_name() + " -h` shows its options";
    if (const auto text = wrong_count(error, app, arguments); !text.empty()) return text + advice;
    const bool value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                       dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    if (value) return error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what() + advice;
    const auto left = app.remaining();
    const auto option =
        std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (option == left.end())
        return "unexpected argument \"" + (left.empty() ? "" : base::quoted(left.front())) + "\"" + advice;
    const auto name = option->substr(0, option->find('='));
    const auto near = config::suggest(name, option_names(app));
    return "there is no option " + base::quoted(name) + (near.empty() ? "" : "; did you mean " + near + "?") +
           advice;
}

int run_command(const Command& command, const Words& arguments) {
    CLI::App app(std::string(command.summary), "switchyard " + std::string(command.path));
    app.set_help_flag("-h,--help", "show this help");
    app.get_formatter()->column_width(32);
    app.get_formatter()->label("Positionals", "Arguments");
    bool plain = false;
    app.add_flag("--no-color", plain,
                 "print without colors, as with NO_COLOR in the environment; colors need a terminal");
    std::string footer = "Examples:";
    for (const auto& example : command.examples) footer.append("\n  ").append(example);
    app.footer(footer);
    const auto action = command.setup(app);
    try {
        app.parse(Words(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return Exit::fine;
    } catch (const CLI::ParseError& error) {
        throw Failure(told(error, app, arguments));
    }
    if (const auto text = empty_value(app, {"--prompt", "TEXT"}); !text.empty()) throw Failure(text);
    if (plain) base::disable_color();
    for (const auto* const name : {"--json", "--jsonl"}) {
        const auto* json = app.get_option_no_throw(name);
        if (json != nullptr && json->results() == Words{"-"}) keep_stdout_for_json();
    }
    return action();
}

// The path of the command that runs; empty: none does yet.
std::string& running_command() {
    static std::string path;
    return path;
}

int dispatch(const std::vector<Command>& commands, Words words, const HandOver& hand_over) {
    if (!words.empty() && words.front() == "--no-color")
        std::rotate(words.begin(), words.begin() + 1, words.end());
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (words.empty()) throw Failure("expected a command\n\n" + help(commands, ""));
    if (words.front() == "--version") words.front() = "version";
    if (is_help(words.front())) return std::cout << help(commands, ""), Exit::fine;
    // "bench" is a command, and so is "bench inference".
    const bool both = find(commands, words.front()) != nullptr;
    const bool grouped = both ? words.size() > 1 && find(commands, words[0] + " " + words[1]) != nullptr
                              : is_group(commands, words.front());
    if (grouped && words.size() == 1)
        throw Failure("expected one of its commands\n\n" + help(commands, words.front()));
    if (grouped && is_help(words[1])) return std::cout << help(commands, words[0]), Exit::fine;
    const auto path = grouped ? words[0] + " " + words[1] : words[0];
    const auto* command = find(commands, path);
    if (command == nullptr) unknown_command(commands, grouped ? words[0] : "", words[grouped ? 1 : 0]);
    if (command->setup == nullptr) return hand_over(words);
    running_command() = path;
    return run_command(*command, Words(words.begin() + (grouped ? 2 : 1), words.end()));
}

CommandError told(const std::string& said, int code) {
    auto text = with_short_words(code == Exit::run_failed ? error_text(said, running_command())
                                                          : without_frames(said));
    if (const auto hint = how_to_fetch(text); !hint.empty())
        text += (text.ends_with('\n') ? "" : "\n") + hint;
    const auto line = text.substr(0, text.find('\n'));
    const bool has_place = line.starts_with("error: ") || line.find(": error: ") != std::string::npos;
    return {(has_place ? "" : "error: ") + text + (text.ends_with('\n') ? "" : "\n"), code};
}

int tell(const CommandError& told) {
    std::cout.flush();
    std::cerr << told.text;
    return told.code;
}

Words& given_arguments() {
    static Words words;
    return words;
}

}  // namespace

int run_program(const std::vector<Command>& commands, const std::vector<std::string>& arguments,
                const HandOver& hand_over) {
    try {
        given_arguments() = arguments;
        const int code = dispatch(commands, arguments, hand_over);
        std::cout.flush();
        return std::cout ? code : tell(told("cannot write to the standard output", Exit::run_failed));
    } catch (...) {
        return tell(command_error(std::current_exception()));
    }
}

const std::vector<std::string>& program_arguments() { return given_arguments(); }

CommandError command_error(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
        return told(failure.what(), failure.code());
    } catch (const base::InputError& error) {
        return told(error.what(), Exit::bad_input);
    } catch (const std::bad_alloc&) {
        return told("out of memory", Exit::run_failed);
    } catch (const std::exception& error) {
        return told(error.what(), Exit::run_failed);
    } catch (...) {
        return told("something that is not a std::exception was thrown", Exit::run_failed);
    }
}

}  // namespace switchyard::cli
