// What is told of the process's standard output.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <switchyard/conformance/process_state.h>

#include <switchyard_test.h>

using namespace switchyard;
using conformance::ProcessState;

namespace {

// Has both standard streams end in files until it goes out of scope.
class Streams {
public:
    Streams(const std::string& output, const std::string& error)
        : output_(put(STDOUT_FILENO, output)), error_(put(STDERR_FILENO, error)) {}
    ~Streams() {
        for (const auto& [kept, stream] : {std::pair{output_, STDOUT_FILENO}, {error_, STDERR_FILENO}}) {
            ::dup2(kept, stream);
            ::close(kept);
        }
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

private:
    static int put(int stream, const std::string& path) {
        const int kept = ::dup(stream);
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        ::dup2(file, stream);
        ::close(file);
        return kept;
    }

    int output_, error_;
};

// What was seen of a call that writes five bytes there.
std::vector<std::string> changes_by_writing_to(int stream, const std::string& output,
                                               const std::string& error) {
    const Streams streams(output, error);
    const auto before = ProcessState::now(false);
    if (::write(stream, "words", 5) != 5) return {"nothing could be written"};
    return before.changes(ProcessState::now(false));
}

}  // namespace

TEST_CASE("bytes that are printed are told where they can be told from warnings") {
    const auto folder = test::temporary_dir("streams");
    const auto output = (folder / "output").string(), error = (folder / "error").string();
    const std::vector<std::string> nothing, printed{"5 bytes were printed to the standard output"};
    CHECK(changes_by_writing_to(STDOUT_FILENO, output, error) == printed);
    CHECK(changes_by_writing_to(STDERR_FILENO, output, error) == nothing);
    // As of `program > log 2>&1`: a warning of LibTorch's is no component's fault.
    CHECK(changes_by_writing_to(STDERR_FILENO, output, output) == nothing);
}
