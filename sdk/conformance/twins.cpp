#include <switchyard/conformance/twins.h>

#include <stdexcept>

namespace switchyard::conformance {

void add_twin(OperationCase& one, const OperationCase& twin) {
    one.make_on_cpu = twin.make;
    for (std::size_t i = 0; i < one.in_turn.size(); ++i) add_twin(one.in_turn[i], twin.in_turn.at(i));
}

void add_twins(std::vector<OperationCase>& cases, const std::vector<OperationCase>& on_cpu) {
    auto twin = on_cpu.begin();
    for (OperationCase& one : cases) {
        while (twin != on_cpu.end() && twin->name != one.name) ++twin;
        if (twin == on_cpu.end())
            throw std::logic_error("verify: the CPU has no case '" + one.name + "' in that order");
        add_twin(one, *twin++);
    }
}

}  // namespace switchyard::conformance
