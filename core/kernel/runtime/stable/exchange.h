// Tensors that go to a plugin of the stable tier and come back: lent for a call, and given for good.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/saved.h>
#include <switchyard/interfaces/stable_abi.h>

namespace switchyard::runtime::stable {

struct GivenTensor {
    const char* what;  // "y"
    AtenTensorHandle handle;
};

// Of one call. What is lent must outlive it.
class Exchange {
public:
    // NULL for a tensor that is not there.
    AtenTensorHandle lend(const at::Tensor& tensor);
    // What `saved_tensor` hands out.
    void lend(const Saved& saved) { saved_ = &saved; }

    // What the call gave, in this order; undefined where it gave nothing. All handles are let go, whatever
    // follows. Throws std::runtime_error where the call failed, with its own words, or where it gave a handle
    // that is not its own to give.
    std::vector<at::Tensor> take(std::int32_t status, std::initializer_list<GivenTensor> given);

private:
    bool is_lent(AtenTensorHandle handle) const;

    std::vector<AtenTensorHandle> lent_;
    const Saved* saved_ = nullptr;
};

// The same for a call that gives nothing.
void require_fine(std::int32_t status);

}  // namespace switchyard::runtime::stable
