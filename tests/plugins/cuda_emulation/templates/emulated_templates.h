// The components that `plugins new --cuda` makes, as they are on a device; here with tensors in ordinary
// memory.
#pragma once

#include <memory>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>

// What the second library of each exports.
extern "C" switchyard::Activation* my_activation_on_cuda(const switchyard::CreateInfo& info);
extern "C" switchyard::Attention* my_attention_on_cuda(const switchyard::CreateInfo& info);
extern "C" switchyard::Linear* my_linear_on_cuda(const switchyard::CreateInfo& info);
extern "C" switchyard::Loss* my_loss_on_cuda(const switchyard::CreateInfo& info);
extern "C" switchyard::Normalization* my_normalization_on_cuda(const switchyard::CreateInfo& info);
extern "C" switchyard::Optimizer* my_optimizer_on_cuda(const switchyard::CreateInfo& info);

namespace switchyard::test {

// Its supports is asked for a device: what that accepts, the kernels serve.
conformance::ComponentUnderTest emulated_template(Kind kind);

// What it says of a request on a host with a device.
Verdict verdict_of(Kind kind, const Request& request);

}  // namespace switchyard::test
