// What a build with sanitizers finds ends the program, so that no test passes over it: g++ by itself lets a
// program go on after undefined behaviour.
#ifdef __SANITIZE_ADDRESS__
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

#include <switchyard_test.h>

namespace {

// Its exit code, with what it prints left out.
int exit_code_of(void (*work)()) {
    const pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        work();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void overflow() {
    volatile int number = INT_MAX;
    number = number + 1;
}

}  // namespace

TEST_CASE("undefined behaviour ends a program that is built to find it") {
    CHECK(exit_code_of([] {}) == 0);
    CHECK(exit_code_of(overflow) != 0);
}
#endif
