#include "run_switchyard.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const RunOptions& options,
                         const std::string& program, const std::filesystem::path& folder) {
    for (const auto& [key, value] : options.environment) setenv(key.c_str(), value.c_str(), 1);
    const auto redirect = [&](const char* file, int descriptor) {
        dup2(open((folder / file).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    if (chdir(source_dir().c_str()) != 0) _exit(127);
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
}

}  // namespace

Outcome run(const std::vector<std::string>& arguments, const RunOptions& options) {
    const auto program = (build_dir() / "bin/switchyard").string();
    const auto folder = temporary_dir("run");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) become(arguments, options, program, folder);
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), content(folder / "out"),
            content(folder / "err")};
}

nlohmann::json run_json(std::vector<std::string> arguments, int code, const RunOptions& options) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const auto outcome = run(arguments, options);
    INFO(outcome.err);
    REQUIRE(outcome.code == code);
    return nlohmann::json::parse(outcome.out);
}

std::string write_temporary(const std::string& file, const std::string& text) {
    const auto path = temporary_dir("cli") / file;
    std::ofstream(path) << text;
    return path.string();
}

}  // namespace switchyard::test
