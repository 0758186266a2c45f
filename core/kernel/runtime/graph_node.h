// Nodes of LibTorch's graph of gradients, owned as each release of LibTorch owns its own: by
// std::shared_ptr, and in later ones by c10::intrusive_ptr, where the count is in the node.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace switchyard::runtime {

using NodePtr = decltype(torch::autograd::Edge::function);

// A node of class Made, in the pointer that is a NodePtr for it.
template <class Made, class... Arguments>
auto new_node(Arguments&&... arguments) {
    if constexpr (std::is_same_v<NodePtr, std::shared_ptr<torch::autograd::Node>>)
        // Found by its argument, since later releases have no such function: without it, a long graph is
        // freed by as many calls within each other.
        return std::shared_ptr<Made>(new Made(std::forward<Arguments>(arguments)...),
                                     [](Made* node) { deleteNode(node); });
    else
        return c10::make_intrusive<Made>(std::forward<Arguments>(arguments)...);
}

// Makes `output` one more output of the call that this node differentiates.
inline void set_node(const at::Tensor& output, const NodePtr& node) {
    torch::autograd::impl::set_gradient_edge(output, {node, node->add_input_metadata(output)});
}

}  // namespace switchyard::runtime
