// Throws an int while it is loaded.
namespace {
struct Throw {
    Throw() { throw 7; }
} at_load;
}  // namespace
