// A module's operation: bound when the model is made, for each phase that the module runs in.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <switchyard/interfaces/types.h>

namespace switchyard::model {

template <class Op>
class Slot {
public:
    Slot() = default;
    explicit Slot(std::string name) : name_(std::move(name)) {}

    void set(Phase phase, std::shared_ptr<const Op> op) { ops_[index(phase)] = std::move(op); }

    // Throws std::logic_error for a phase that run.phases did not name when the model was made.
    const Op& operator[](Phase phase) const {
        if (const auto& op = ops_[index(phase)]) [[likely]]
            return *op;
        throw std::logic_error(name_ + " was not made for the phase " + std::string(name(phase)));
    }
    // nullptr for such a phase.
    const Op* find(Phase phase) const { return ops_[index(phase)].get(); }
    // What the operation takes its inputs in: what the precision policy answered when the plan was made.
    DType dtype(Phase phase) const { return (*this)[phase].binding().request().dtype; }

private:
    static std::size_t index(Phase phase) { return static_cast<std::size_t>(phase); }

    std::string name_;
    std::array<std::shared_ptr<const Op>, names<Phase>.size()> ops_{};
};

}  // namespace switchyard::model
