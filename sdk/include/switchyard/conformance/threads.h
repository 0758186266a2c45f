// As many threads as a case wants, for as long as this lives.
#pragma once

#include <ATen/Parallel.h>

namespace switchyard::conformance {

class Threads {
public:
    explicit Threads(int count) {
        if (count != before_) at::set_num_threads(count);
    }
    ~Threads() {
        if (at::get_num_threads() != before_) at::set_num_threads(before_);
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_ = at::get_num_threads();
};

}  // namespace switchyard::conformance
