// A library that is preloaded into the program under test (LD_PRELOAD): it counts the calls that touch files
// below one folder, lets one of them fail or kills the program there, and records what changes the folder.
// Calls of the C library are interposed under their own names; libstdc++'s streams and std::filesystem go
// through them as well. Paths are taken as they are given: no symbolic links, no "..".
//
//     SWITCHYARD_FAULTS_PROGRAM  acts in the program of this name only, not in what starts it or is started
//                                by it
//     SWITCHYARD_FAULTS_BELOW    the folder
//     SWITCHYARD_FAULTS_LOG      a file for one line a counted call: NUMBER KIND PATH; a kind is open (for
//                                reading), create, read, write, fsync,
//                                rename, mkdir or remove
//     SWITCHYARD_FAULTS_AT       the number of the call at which FAULT happens
//     SWITCHYARD_FAULTS_FAULT    EIO, ENOSPC: the call fails; short: a write or read does half; kill: the
//                                program is killed before the call;
//                                kill-half: in the middle of a write; terminate: it is sent SIGTERM right
//                                after the call, if that creates a file or a folder, else before it
//     SWITCHYARD_FAULTS_LASTING  set: what comes after fails too, with ENOSPC only what needs room
//     SWITCHYARD_FAULTS_RECORD   a file for what changes the folder, read by power_loss.cpp:
//                                OP<TAB>PATH<TAB>OTHER PATH<TAB>OFFSET<TAB>BYTES, a
//                                newline, and the bytes
//
// Nothing here allocates memory, and what it writes itself goes by system calls.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

using Path = char[PATH_MAX];

struct Settings {
    bool active = false, lasting = false, shortens = false, kills = false, kills_half = false;
    bool terminates = false;
    int error = 0;
    long at = 0;
    int log = -1, record = -1;
    const char* below = "";
};

Settings settings;
std::atomic<long> calls{0};

int own_file(const char* variable) {
    const char* const path = std::getenv(variable);
    if (path == nullptr) return -1;
    return static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
}

void own_write(int file, const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (file >= 0 && bytes > 0) {
        const long written = syscall(SYS_write, file, next, bytes);
        if (written <= 0) return;
        next += written;
        bytes -= static_cast<std::size_t>(written);
    }
}

__attribute__((constructor)) void read_settings() {
    const char* const program = std::getenv("SWITCHYARD_FAULTS_PROGRAM");
    const char* const below = std::getenv("SWITCHYARD_FAULTS_BELOW");
    Path self;
    const long length = syscall(SYS_readlink, "/proc/self/exe", self, sizeof self - 1);
    if (program == nullptr || below == nullptr || length <= 0) return;
    self[length] = '\0';
    const char* const name = std::strrchr(self, '/');
    if (name == nullptr || std::strcmp(name + 1, program) != 0) return;

    settings.below = below;
    settings.log = own_file("SWITCHYARD_FAULTS_LOG");
    settings.record = own_file("SWITCHYARD_FAULTS_RECORD");
    settings.lasting = std::getenv("SWITCHYARD_FAULTS_LASTING") != nullptr;
    if (const char* const at = std::getenv("SWITCHYARD_FAULTS_AT")) settings.at = std::atol(at);
    const char* const named = std::getenv("SWITCHYARD_FAULTS_FAULT");
    const auto is = [named](const char* fault) { return named != nullptr && std::strcmp(named, fault) == 0; };
    if (is("EIO")) settings.error = EIO;
    if (is("ENOSPC")) settings.error = ENOSPC;
    settings.shortens = is("short");
    settings.kills = is("kill");
    settings.kills_half = is("kill-half");
    settings.terminates = is("terminate");
    settings.active = true;
}

bool is_below(const char* path) {
    const auto length = std::strlen(settings.below);
    return std::strncmp(path, settings.below, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool path_of(int descriptor, Path& path) {
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const long length = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    return true;
}

// Whether a call on this path is counted; `absolute` is then the path.
bool counts(int folder, const char* path, Path& absolute) {
    if (!settings.active) return false;
    if (path[0] == '/') {
        std::snprintf(absolute, sizeof absolute, "%s", path);
        return is_below(absolute);
    }
    if (folder == AT_FDCWD ? syscall(SYS_getcwd, absolute, sizeof absolute) <= 0 : !path_of(folder, absolute))
        return false;
    const auto length = std::strlen(absolute);
    std::snprintf(absolute + length, sizeof absolute - length, "/%s", path);
    return is_below(absolute);
}

bool counts(int descriptor, Path& path) {
    return settings.active && path_of(descriptor, path) && is_below(path);
}

struct Decision {
    bool fails = false;  // errno is set
    bool half = false;
    bool dies_after = false;
    bool terminates_after = false;
};

void die_if(bool now) {
    if (now) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

// To this thread, which has it before the call returns.
void terminate_if(bool now) {
    if (now) syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGTERM);
}

Decision decide(const char* kind, const char* path, bool needs_room) {
    const long number = ++calls;
    char line[PATH_MAX + 64];
    const int length = std::snprintf(line, sizeof line, "%ld %s %s\n", number, kind, path);
    own_write(settings.log, line, std::min(static_cast<std::size_t>(length), sizeof line - 1));

    const bool here = number == settings.at;
    const bool whole_call = std::strcmp(kind, "write") != 0;
    const bool makes = std::strcmp(kind, "create") == 0 || std::strcmp(kind, "mkdir") == 0;
    die_if(here && (settings.kills || (settings.kills_half && whole_call)));
    terminate_if(here && settings.terminates && !makes);
    Decision decision;
    decision.terminates_after = here && settings.terminates && makes;
    decision.half = here && (settings.shortens || settings.kills_half);
    decision.dies_after = here && settings.kills_half;
    const bool later = settings.lasting && settings.at > 0 && number > settings.at;
    if (settings.error != 0 && (here || (later && (settings.error != ENOSPC || needs_room)))) {
        decision.fails = true;
        errno = settings.error;
    }
    return decision;
}

void record(const char* op, const char* path, const char* other = "", long offset = 0,
            const void* data = nullptr, std::size_t bytes = 0) {
    if (settings.record < 0) return;
    const int before = errno;
    char line[2 * PATH_MAX + 128];
    const int length =
        std::snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%zu\n", op, path, other, offset, bytes);
    own_write(settings.record, line, std::min(static_cast<std::size_t>(length), sizeof line - 1));
    own_write(settings.record, data, bytes);
    errno = before;
}

void record_opened(int descriptor, const char* path, bool creates, bool empties) {
    if (descriptor < 0) return;
    if (creates) record("create", path);
    if (empties) record("truncate", path);
}

// Where a write of so many bytes began that is over.
long began(int descriptor, ssize_t written) { return syscall(SYS_lseek, descriptor, 0L, SEEK_CUR) - written; }

// The C library's own function of a name.
template <typename Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int opened(int folder, const char* path, int flags, mode_t mode) {
    static auto* const call = next<int(int, const char*, int, ...)>("openat");
    Path absolute;
    if (!counts(folder, path, absolute)) return call(folder, path, flags, mode);
    const bool creates = (flags & O_CREAT) != 0;
    const auto decision = decide(creates ? "create" : "open", absolute, creates);
    if (decision.fails) return -1;
    const int descriptor = call(folder, path, flags, mode);
    record_opened(descriptor, absolute, creates, (flags & O_TRUNC) != 0);
    terminate_if(decision.terminates_after);
    return descriptor;
}

mode_t mode_in(int flags, std::va_list& arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

std::FILE* stream(const char* name, const char* path, const char* mode) {
    auto* const call = next<std::FILE*(const char*, const char*)>(name);
    Path absolute;
    if (!counts(AT_FDCWD, path, absolute)) return call(path, mode);
    const bool creates = mode[0] != 'r';
    const auto decision = decide(creates ? "create" : "open", absolute, creates);
    if (decision.fails) return nullptr;
    std::FILE* const file = call(path, mode);
    record_opened(file == nullptr ? -1 : fileno(file), absolute, creates, mode[0] == 'w');
    terminate_if(decision.terminates_after);
    return file;
}

int unique(const char* name, char* pattern, int flags) {
    auto* const call = next<int(char*, int)>(name);
    Path absolute;
    if (!counts(AT_FDCWD, pattern, absolute)) return call(pattern, flags);
    const auto decision = decide("create", absolute, true);
    if (decision.fails) return -1;
    const int descriptor = call(pattern, flags);
    if (descriptor >= 0 && counts(AT_FDCWD, pattern, absolute)) record("create", absolute);
    terminate_if(decision.terminates_after);
    return descriptor;
}

int synced(const char* name, int descriptor) {
    auto* const call = next<int(int)>(name);
    Path path;
    if (!counts(descriptor, path)) return call(descriptor);
    if (decide("fsync", path, true).fails) return -1;
    // What is tested is never a machine without power: the order is recorded, and the disk left in peace.
    record("sync", path);
    return 0;
}

int renamed(int from_folder, const char* from, int to_folder, const char* to) {
    static auto* const call = next<int(int, const char*, int, const char*) noexcept>("renameat");
    Path old_path, new_path;
    const bool counted = counts(from_folder, from, old_path) && counts(to_folder, to, new_path);
    if (counted && decide("rename", new_path, true).fails) return -1;
    const int result = call(from_folder, from, to_folder, to);
    if (counted && result == 0) record("rename", old_path, new_path);
    return result;
}

int made(int folder, const char* path, mode_t mode) {
    static auto* const call = next<int(int, const char*, mode_t) noexcept>("mkdirat");
    Path absolute;
    const bool counted = counts(folder, path, absolute);
    const auto decision = counted ? decide("mkdir", absolute, true) : Decision{};
    if (decision.fails) return -1;
    const int result = call(folder, path, mode);
    if (counted && result == 0) record("mkdir", absolute);
    terminate_if(decision.terminates_after);
    return result;
}

int removed(int folder, const char* path, int flags) {
    static auto* const call = next<int(int, const char*, int) noexcept>("unlinkat");
    Path absolute;
    const bool counted = counts(folder, path, absolute);
    if (counted && decide("remove", absolute, false).fails) return -1;
    const int result = call(folder, path, flags);
    if (counted && result == 0) record("remove", absolute);
    return result;
}

// `perform(bytes)` reads; a short read is of half as many.
template <typename Perform>
ssize_t read_as(int descriptor, std::size_t bytes, const Perform& perform) {
    Path path;
    if (!counts(descriptor, path)) return perform(bytes);
    const auto decision = decide("read", path, false);
    if (decision.fails) return -1;
    return perform(decision.half && bytes > 1 ? bytes / 2 : bytes);
}

}  // namespace

INTERPOSED int open(const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return opened(AT_FDCWD, path, flags, mode);
}

INTERPOSED int open64(const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return opened(AT_FDCWD, path, flags, mode);
}

INTERPOSED int openat(int folder, const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return opened(folder, path, flags, mode);
}

INTERPOSED int openat64(int folder, const char* path, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return opened(folder, path, flags, mode);
}

INTERPOSED int creat(const char* path, mode_t mode) {
    return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

INTERPOSED std::FILE* fopen(const char* path, const char* mode) { return stream("fopen", path, mode); }
INTERPOSED std::FILE* fopen64(const char* path, const char* mode) { return stream("fopen64", path, mode); }
INTERPOSED int mkostemp(char* pattern, int flags) { return unique("mkostemp", pattern, flags); }
INTERPOSED int mkostemp64(char* pattern, int flags) { return unique("mkostemp64", pattern, flags); }
INTERPOSED int mkstemp(char* pattern) { return unique("mkostemp", pattern, 0); }
INTERPOSED int mkstemp64(char* pattern) { return unique("mkostemp64", pattern, 0); }

INTERPOSED ssize_t read(int descriptor, void* data, std::size_t bytes) {
    static auto* const call = next<ssize_t(int, void*, std::size_t)>("read");
    return read_as(descriptor, bytes, [&](std::size_t some) { return call(descriptor, data, some); });
}

INTERPOSED ssize_t pread(int descriptor, void* data, std::size_t bytes, off_t offset) {
    static auto* const call = next<ssize_t(int, void*, std::size_t, off_t)>("pread");
    return read_as(descriptor, bytes, [&](std::size_t some) { return call(descriptor, data, some, offset); });
}

INTERPOSED ssize_t pread64(int descriptor, void* data, std::size_t bytes, off64_t offset) {
    return pread(descriptor, data, bytes, offset);
}

INTERPOSED ssize_t write(int descriptor, const void* data, std::size_t bytes) {
    static auto* const call = next<ssize_t(int, const void*, std::size_t)>("write");
    Path path;
    if (!counts(descriptor, path)) return call(descriptor, data, bytes);
    const auto decision = decide("write", path, true);
    if (decision.fails) return -1;
    const ssize_t written = call(descriptor, data, decision.half && bytes > 1 ? bytes / 2 : bytes);
    if (written > 0)
        record("write", path, "", began(descriptor, written), data, static_cast<std::size_t>(written));
    die_if(decision.dies_after);
    return written;
}

INTERPOSED ssize_t pwrite(int descriptor, const void* data, std::size_t bytes, off_t offset) {
    static auto* const call = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
    Path path;
    if (!counts(descriptor, path)) return call(descriptor, data, bytes, offset);
    const auto decision = decide("write", path, true);
    if (decision.fails) return -1;
    const ssize_t written = call(descriptor, data, decision.half && bytes > 1 ? bytes / 2 : bytes, offset);
    if (written > 0) record("write", path, "", offset, data, static_cast<std::size_t>(written));
    die_if(decision.dies_after);
    return written;
}

INTERPOSED ssize_t pwrite64(int descriptor, const void* data, std::size_t bytes, off64_t offset) {
    return pwrite(descriptor, data, bytes, offset);
}

// Writes its parts one after the other, and at most half of the whole if it is to be short.
INTERPOSED ssize_t writev(int descriptor, const struct iovec* parts, int count) {
    static auto* const call = next<ssize_t(int, const struct iovec*, int)>("writev");
    static auto* const plain = next<ssize_t(int, const void*, std::size_t)>("write");
    Path path;
    if (!counts(descriptor, path)) return call(descriptor, parts, count);
    const auto decision = decide("write", path, true);
    if (decision.fails) return -1;
    std::size_t left = 0;
    for (int i = 0; i < count; ++i) left += parts[i].iov_len;
    if (decision.half && left > 1) left /= 2;
    ssize_t sum = 0;
    for (int i = 0; i < count && left > 0; ++i) {
        const ssize_t written = plain(descriptor, parts[i].iov_base, std::min(left, parts[i].iov_len));
        if (written < 0) return sum > 0 ? sum : -1;
        const auto bytes = static_cast<std::size_t>(written);
        record("write", path, "", began(descriptor, written), parts[i].iov_base, bytes);
        sum += written;
        left -= bytes;
        if (bytes < parts[i].iov_len) break;
    }
    die_if(decision.dies_after);
    return sum;
}

INTERPOSED int fsync(int descriptor) { return synced("fsync", descriptor); }
INTERPOSED int fdatasync(int descriptor) { return synced("fdatasync", descriptor); }

INTERPOSED int rename(const char* from, const char* to) noexcept {
    return renamed(AT_FDCWD, from, AT_FDCWD, to);
}
INTERPOSED int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return renamed(from_folder, from, to_folder, to);
}

INTERPOSED int mkdir(const char* path, mode_t mode) noexcept { return made(AT_FDCWD, path, mode); }
INTERPOSED int mkdirat(int folder, const char* path, mode_t mode) noexcept {
    return made(folder, path, mode);
}

INTERPOSED int unlink(const char* path) noexcept { return removed(AT_FDCWD, path, 0); }
INTERPOSED int rmdir(const char* path) noexcept { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
INTERPOSED int unlinkat(int folder, const char* path, int flags) noexcept {
    return removed(folder, path, flags);
}
INTERPOSED int remove(const char* path) noexcept {
    struct stat status {};
    const bool folder = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return removed(AT_FDCWD, path, folder ? AT_REMOVEDIR : 0);
}

INTERPOSED int ftruncate(int descriptor, off_t length) noexcept {
    static auto* const call = next<int(int, off_t) noexcept>("ftruncate");
    Path path;
    const int result = call(descriptor, length);
    if (result == 0 && counts(descriptor, path)) record("truncate", path, "", length);
    return result;
}
INTERPOSED int ftruncate64(int descriptor, off64_t length) noexcept { return ftruncate(descriptor, length); }
