// Says that it is of the stable tier, and calls functions of LibTorch's C++ libraries. Loading it ends the
// process: what refuses it must do so before.
#include <cstdlib>

namespace at {
class Tensor;
bool is_it_stable(const Tensor& tensor);
}  // namespace at
namespace c10 {
void a_thing_of_c10(int number);
}

__attribute__((constructor)) static void when_loaded() { std::abort(); }

__attribute__((used, visibility("default"))) bool calls(const at::Tensor& tensor) {
    c10::a_thing_of_c10(1);
    return at::is_it_stable(tensor);
}
