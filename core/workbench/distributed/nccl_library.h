// NCCL's process group is in LibTorch's library for CUDA, which a program without a GPU does not have: what
// makes it is a library of its own, opened where it is asked for.
#pragma once

#include <string>

namespace switchyard::distributed {

inline constexpr const char* nccl_library = "libexec/switchyard/libswitchyard_nccl.so";
inline constexpr const char* nccl_symbol = "switchyard_add_nccl";

// Of that library: pointers to c10::intrusive_ptr of a c10d::ProcessGroup, which gets NCCL for tensors on
// CUDA devices, and of a c10d::Store. Returns nullptr, or what is wrong, valid until the next call.
using AddNccl = const char*(void* group, const void* store, double timeout_seconds);

// NCCL reads from the environment which network interface it talks over: this one, unless it says one there
// already; empty: as NCCL chooses. To be called before there are threads.
void name_nccl_interface(const std::string& interface);

// Throws base::InputError where that library is not there or finds no device.
void add_nccl(void* group, const void* store, double timeout_seconds);

}  // namespace switchyard::distributed
