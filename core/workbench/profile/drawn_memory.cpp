#include "core/workbench/profile/drawn_memory.h"

namespace switchyard::profile {

using report::Hue;

double DrawnMemory::bytes_of(const Parts& parts) const {
    std::int64_t bytes = 0;
    for (const auto is : of) bytes += parts[static_cast<std::size_t>(is)];
    return static_cast<double>(bytes);
}

const std::vector<DrawnMemory>& drawn_memory() {
    static const std::vector<DrawnMemory> list{
        {"parameters", Hue::a, {MemoryClass::parameters}},
        {"masters", Hue::e, {MemoryClass::masters}},
        {"optimizer state", Hue::b, {MemoryClass::optimizer_state}},
        {"batches, others", Hue::h, {MemoryClass::batches, MemoryClass::other}},
        {"forms of weights", Hue::f, {MemoryClass::weight_forms}},
        {"gradients", Hue::c, {MemoryClass::gradients}},
        {"activations", Hue::d, {MemoryClass::activations}},
        {"temporaries", Hue::g, {MemoryClass::temporaries}}};
    return list;
}

}  // namespace switchyard::profile
