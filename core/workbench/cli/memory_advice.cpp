#include "core/workbench/cli/memory_advice.h"

#include <algorithm>
#include <array>

namespace switchyard::cli {
namespace {

struct Advice {
    std::string_view command, text;
};

constexpr std::string_view of_training =
    "a smaller batch.size (and more train.grad_accumulation_steps for it), a smaller\nbatch.max_length, or "
    "train.recompute = \"layers\"";
constexpr std::string_view of_forwards =
    "a smaller batch.size or batch.max_length, or with weights in 16 bits\n(--set "
    "precision.backend=amp/bf16_pure)";
constexpr std::string_view of_generation =
    "fewer --max-tokens, a smaller batch.size, keys and values in fewer bits\n(--set cache.dtype=bfloat16), "
    "or weights in 16 bits (--set precision.backend=amp/bf16_pure)";
constexpr std::string_view of_timed_inference =
    "a smaller --batch, --length or --tokens, keys and values in fewer bits\n(--set cache.dtype=bfloat16), "
    "or "
    "weights in 16 bits (--set precision.backend=amp/bf16_pure)";
constexpr std::string_view of_samples = "a smaller batch.size or batch.max_length";

// Of each command that runs a model.
constexpr std::array<Advice, 15> advices{{{"train", of_training},
                                          {"launch", of_training},
                                          {"compare", of_training},
                                          {"fit", of_training},
                                          {"profile", of_training},
                                          {"precision", of_training},
                                          {"plugins bisect", of_training},
                                          {"diagnose", of_samples},
                                          {"tune", of_samples},
                                          {"predict", of_forwards},
                                          {"evaluate", of_forwards},
                                          {"embed", of_forwards},
                                          {"quantize", of_samples},
                                          {"generate", of_generation},
                                          {"bench inference", of_timed_inference}}};

}  // namespace

bool is_out_of_memory(std::string_view text) {
    return std::ranges::any_of(std::array{"cannot allocate ", "can't allocate memory", "out of memory",
                                          "not enough memory", "std::bad_alloc"},
                               [&](const char* sign) { return text.find(sign) != std::string_view::npos; });
}

std::string how_to_need_less(std::string_view command) {
    const auto* const found = std::ranges::find(advices, command, &Advice::command);
    if (found == advices.end()) return "";
    return "\n" + std::string(less_memory) + std::string(found->text);
}

}  // namespace switchyard::cli
