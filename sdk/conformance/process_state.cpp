#include <switchyard/conformance/process_state.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace switchyard::conformance {
namespace {

// Exceptions that were raised are no setting.
unsigned control_word() {
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3FU;
#else
    return 0;
#endif
}

const std::array<std::pair<int, const char*>, 9> handled{{{SIGINT, "SIGINT"},
                                                          {SIGTERM, "SIGTERM"},
                                                          {SIGHUP, "SIGHUP"},
                                                          {SIGPIPE, "SIGPIPE"},
                                                          {SIGSEGV, "SIGSEGV"},
                                                          {SIGFPE, "SIGFPE"},
                                                          {SIGABRT, "SIGABRT"},
                                                          {SIGBUS, "SIGBUS"},
                                                          {SIGCHLD, "SIGCHLD"}}};

std::string text_of(const struct sigaction& action) {
    if ((action.sa_flags & SA_SIGINFO) == 0) {
        if (action.sa_handler == SIG_IGN) return "ignored";
        if (action.sa_handler == SIG_DFL) return "the default";
    }
    char text[32];
    std::snprintf(text, sizeof text, "a handler at %p", reinterpret_cast<void*>(action.sa_handler));
    return text;
}

// Which file stands behind a descriptor.
std::string stream_of(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return "closed";
    return "file " + std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

// 0 where that cannot be seen: in what is no regular file, or is the standard error's file, too.
std::int64_t bytes_printed() {
    struct stat status {};
    const bool regular = ::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    return regular && stream_of(STDOUT_FILENO) != stream_of(STDERR_FILENO) ? status.st_size : 0;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

mode_t mask_of_files() {
    const mode_t mask = ::umask(0077);
    ::umask(mask);
    return mask;
}

std::string octal(mode_t mask) {
    char text[16];
    std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mask));
    return text;
}

std::string processors() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return "";
    return std::to_string(CPU_COUNT(&set));
}

std::vector<std::string> environment() {
    std::vector<std::string> list;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) list.emplace_back(*one);
    std::sort(list.begin(), list.end());
    return list;
}

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

const char* yes_no(bool value) { return value ? "on" : "off"; }

}  // namespace

ProcessState ProcessState::now(bool generator) {
    ProcessState state;
    const auto add = [&](std::string what, std::string value) {
        state.facts_.push_back({std::move(what), std::move(value)});
    };
    auto& context = at::globalContext();
    state.threads_ = at::get_num_threads();
    state.control_word_ = control_word();
    std::error_code ignored;
    state.folder_ = std::filesystem::current_path(ignored).string();
    const char* const locale = std::setlocale(LC_ALL, nullptr);
    state.locale_ = locale == nullptr ? "" : locale;
    state.environment_ = environment();
    state.gradients_ = c10::GradMode::is_enabled();
    state.dtype_ = c10::get_default_dtype();
    state.deterministic_ = context.deterministicAlgorithms();
    state.file_mask_ = mask_of_files();
    if (generator) state.generator_ = at::detail::getDefaultCPUGenerator().get_state();
    state.printed_ = bytes_printed();
    add("the number of threads", std::to_string(state.threads_));
    add("the default dtype", std::string(state.dtype_.name()));
    add("the grad mode", yes_no(state.gradients_));
    add("the inference mode", yes_no(c10::InferenceMode::is_enabled()));
    add("deterministic algorithms", yes_no(state.deterministic_));
    add("oneDNN", yes_no(context.userEnabledMkldnn()));
    add("rounding and denormal numbers (MXCSR)", std::to_string(state.control_word_));
    add("the working directory", state.folder_);
    add("the locale", state.locale_);
    add("the mask of new files", octal(state.file_mask_));
    add("the processors that may be used", processors());
    for (const auto& [signal, name] : handled) {
        struct sigaction action {};
        ::sigaction(signal, nullptr, &action);
        state.handlers_.push_back(action);
        add(std::string("what follows from ") + name, text_of(action));
    }
    add("standard input", stream_of(STDIN_FILENO));
    add("standard output", stream_of(STDOUT_FILENO));
    add("standard error", stream_of(STDERR_FILENO));
    add("the processes that were started", first_line("/proc/thread-self/children"));
    return state;
}

std::vector<std::string> ProcessState::changes(const ProcessState& later) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(facts_.size(), later.facts_.size()); ++i) {
        const auto &was = facts_[i], &is = later.facts_[i];
        if (was.value != is.value)
            texts.push_back(was.what + " was " + (was.value.empty() ? "none" : was.value) + " and is " +
                            (is.value.empty() ? "none" : is.value));
    }
    std::vector<std::string> variables;
    std::set_symmetric_difference(environment_.begin(), environment_.end(), later.environment_.begin(),
                                  later.environment_.end(), std::back_inserter(variables));
    if (!variables.empty()) texts.push_back("the environment has another " + name_of(variables.front()));
    if (later.printed_ > printed_)
        texts.push_back(std::to_string(later.printed_ - printed_) +
                        " bytes were printed to the standard output");
    if (generator_.defined() && later.generator_.defined() && !generator_.equal(later.generator_))
        texts.push_back("LibTorch's generator of the CPU draws other numbers than it would have");
    return texts;
}

void ProcessState::restore() const {
    at::set_num_threads(threads_);
    c10::set_default_dtype(dtype_);
    c10::GradMode::set_enabled(gradients_);
    if (at::globalContext().deterministicAlgorithms() != deterministic_)
        at::globalContext().setDeterministicAlgorithms(deterministic_, false);
#if defined(__x86_64__)
    _mm_setcsr(control_word_);
#endif
    ::umask(file_mask_);
    for (std::size_t i = 0; i < handlers_.size(); ++i) ::sigaction(handled[i].first, &handlers_[i], nullptr);
    (void)!::chdir(folder_.c_str());
    std::setlocale(LC_ALL, locale_.c_str());
    for (const auto& variable : environment()) {
        if (!std::binary_search(environment_.begin(), environment_.end(), variable))
            ::unsetenv(name_of(variable).c_str());
    }
    for (const auto& variable : environment_) {
        const auto name = name_of(variable);
        if (name.size() < variable.size()) ::setenv(name.c_str(), variable.c_str() + name.size() + 1, 1);
    }
    if (generator_.defined()) {
        at::Generator generator = at::detail::getDefaultCPUGenerator();
        generator.set_state(generator_);
    }
}

}  // namespace switchyard::conformance
