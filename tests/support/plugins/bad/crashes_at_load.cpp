// Reads through a null pointer while it is loaded.
namespace {
struct Crash {
    Crash() {
        const volatile int* volatile nowhere = nullptr;
        (void)*nowhere;
    }
} at_load;
}  // namespace
