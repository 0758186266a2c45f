#include "run_switchyard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <switchyard_test.h>

#include "warm_program.h"

namespace switchyard::test {
namespace {

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Where programs run that are not told where: one for this process.
std::string usual_work() {
    static const auto folder = [] {
        auto made = temporary_dir("work");
        std::filesystem::create_directory_symlink(source_dir() / "configs", made / "configs");
        return made.string();
    }();
    return folder;
}

int new_file(const std::filesystem::path& file) {
    return open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

// The new process's own signals and files, whatever this one has.
void begin_anew(const std::filesystem::path& folder) {
    reset_signals();
    dup2(new_file(folder / "out"), STDOUT_FILENO);
    dup2(new_file(folder / "err"), STDERR_FILENO);
}

// This process's with what the options set.
std::vector<std::string> environment_of(const RunOptions& options) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        if (!options.environment.contains(text.substr(0, text.find('=')))) entries.push_back(text);
    }
    for (const auto& [key, value] : options.environment) entries.push_back(key + "=" + value);
    return entries;
}

// Opening it does not wait for anybody.
bool opens_at_once(const std::string& file) {
    std::error_code ignored;
    return file.empty() || std::filesystem::is_regular_file(file, ignored) ||
           std::filesystem::is_character_file(file, ignored);
}

}  // namespace

pid_t start_warm(const std::vector<std::string>& arguments, const RunOptions& options, int out, int err,
                 bool terminal) {
    if (options.in_child || !opens_at_once(options.input)) return -1;
    WarmRequest request;
    request.folder = std::filesystem::absolute(options.folder).string();
    request.terminal = terminal;
    request.words = {"switchyard"};
    request.words.insert(request.words.end(), arguments.begin(), arguments.end());
    request.environment = environment_of(options);
    const int input =
        options.input.empty() ? STDIN_FILENO : open(options.input.c_str(), O_RDONLY | O_CLOEXEC);
    const pid_t started = start_warm(request, {input, out, err});
    if (input > STDIN_FILENO) close(input);
    return started;
}

void become(const std::string& program, const std::vector<std::string>& arguments,
            const RunOptions& options) {
    for (const auto& [key, value] : options.environment) setenv(key.c_str(), value.c_str(), 1);
    if (!options.input.empty()) dup2(open(options.input.c_str(), O_RDONLY), STDIN_FILENO);
    if (chdir(options.folder.c_str()) != 0) _exit(127);
    if (options.in_child) options.in_child();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
}

Started::Started(const std::vector<std::string>& arguments, const RunOptions& options)
    : folder_(temporary_dir("run")) {
    const auto program = (build_dir() / "bin/switchyard").string();
    RunOptions own = options;
    if (own.folder.empty()) own.folder = usual_work();
    const std::array files{new_file(folder_ / "out"), new_file(folder_ / "err")};
    child_ = start_warm(arguments, own, files[0], files[1], false);
    for (const int file : files) close(file);
    if (child_ > 0) return;
    child_ = fork();
    if (child_ < 0) throw std::runtime_error("cannot fork");
    if (child_ != 0) return;
    begin_anew(folder_);
    become(program, arguments, own);
}

Started::~Started() {
    if (reaped_) return;
    kill(child_, SIGKILL);
    waitpid(child_, &status_, 0);
}

void Started::send(int signal) const {
    if (!reaped_) kill(child_, signal);
}

bool Started::ended() {
    if (!reaped_) reaped_ = waitpid(child_, &status_, WNOHANG) == child_;
    return reaped_;
}

bool Started::stop() {
    if (reaped_) return false;
    kill(child_, SIGSTOP);
    int status = 0;
    waitpid(child_, &status, WUNTRACED);
    if (WIFSTOPPED(status)) return true;
    status_ = status;
    reaped_ = true;
    return false;
}

std::string Started::errors() const { return content(folder_ / "err"); }

Outcome Started::wait() {
    if (!reaped_) waitpid(child_, &status_, 0);
    reaped_ = true;
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), content(folder_ / "out"),
            content(folder_ / "err")};
}

Outcome run(const std::vector<std::string>& arguments, const RunOptions& options) {
    return Started(arguments, options).wait();
}

bool in_path(const std::string& program) {
    std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
    for (std::string folder; std::getline(path, folder, ':');)
        if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    return false;
}

Outcome run_program(const std::vector<std::string>& words) {
    RunOptions options;
    options.in_child = [&words] {
        std::vector<char*> pointers;
        for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
        pointers.push_back(nullptr);
        execvp(pointers[0], pointers.data());
        _exit(127);
    };
    return run({}, options);
}

nlohmann::json run_json(std::vector<std::string> arguments, int code, const RunOptions& options) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const auto outcome = run(arguments, options);
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.code == code);
    return nlohmann::json::parse(outcome.out);
}

std::string cache_without_measurements() {
    namespace fs = std::filesystem;
    static const int listed = run({"plugins", "list"}).code;
    REQUIRE(listed == 0);
    const auto folder = temporary_dir("cache") / "copy";
    const char* const own = std::getenv("XDG_CACHE_HOME");
    REQUIRE(own != nullptr);
    fs::copy(fs::path(own) / "switchyard", folder, fs::copy_options::recursive);
    fs::remove_all(folder / "measured");
    return folder.string();
}

long from_environment(const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::stol(text);
}

std::string write_temporary(const std::string& file, const std::string& text) {
    const auto path = temporary_dir("cli") / file;
    std::ofstream(path) << text;
    return path.string();
}

}  // namespace switchyard::test
