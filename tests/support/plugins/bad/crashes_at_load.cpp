// Reads through a null pointer while it is loaded, which no sanitizer is to tell first.
namespace {
struct Crash {
    __attribute__((no_sanitize("undefined"))) Crash() {
        const volatile int* volatile nowhere = nullptr;
        (void)*nowhere;
    }
} at_load;
}  // namespace
