// In which dtypes LibTorch's own operators compute inside a component's call: what a call's tensors at its
// border do not show.
//
// Seen through LibTorch's RecordFunction, on whichever thread, while a component's call is in progress there
// (guard.h). Kernels that a plugin brings itself do not pass by:
// of those its component says itself (<switchyard/interfaces/component_property.h>).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/record_function.h>

namespace switchyard::train {

class InsideDtypes {
public:
    InsideDtypes();
    ~InsideDtypes();
    InsideDtypes(const InsideDtypes&) = delete;
    InsideDtypes& operator=(const InsideDtypes&) = delete;

    // Of matrix products where there were any, else of all that computes; empty: no such operator ran in
    // calls of this name at this place.
    std::set<at::ScalarType> of(std::string_view place, std::string_view call) const;

    // Whether an operator is a matrix product, computes something else, or only moves, makes or looks at
    // tensors.
    enum class Work : std::uint8_t { none, other, product };
    static Work work_of(std::string_view operator_name);

private:
    struct Seen {
        std::set<at::ScalarType> products, others;
    };
    void note(const at::RecordFunction& function);

    mutable std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, Seen> seen_;
    at::CallbackHandle handle_ = 0;
};

}  // namespace switchyard::train
