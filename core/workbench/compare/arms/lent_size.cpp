#include "core/workbench/compare/arms/lent_size.h"

namespace switchyard::compare {

std::string beyond_lent(const std::vector<LentStep>& lent, std::int64_t first, std::int64_t steps,
                        std::int64_t samples, std::int64_t tokens) {
    if (lent.empty()) return "";
    LentStep all;
    for (std::int64_t step = first; step < first + steps; ++step) {
        const auto& one = lent[static_cast<std::size_t>(step) % lent.size()];
        all.samples += one.samples;
        all.tokens += one.tokens;
    }
    const auto says = [&](std::int64_t said, const char* what) {
        return "it says that " + std::to_string(steps) + (steps == 1 ? " step had " : " steps had ") +
               std::to_string(said) + " " + what;
    };
    if (samples != all.samples)
        return says(samples, "samples") + "; it was lent " + std::to_string(all.samples);
    if (tokens > all.tokens)
        return says(tokens, "tokens") + "; it was lent " + std::to_string(all.tokens) + ", padding included";
    return "";
}

}  // namespace switchyard::compare
