#include "core/workbench/train/save_together.h"

#include <filesystem>
#include <vector>

#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/data_parallel.h"

namespace switchyard::train {
namespace {

// In front of what a rank says to the others.
constexpr char is_fine = '+', is_error = '-';

std::string error_in(const std::string& word) { return word.starts_with(is_error) ? word.substr(1) : ""; }

// What each rank wrote goes to the place of its part; those that write nothing say nothing.
std::vector<std::string> in_order(const std::vector<std::string>& words, std::int64_t parts) {
    std::vector<std::string> ordered(static_cast<std::size_t>(parts));
    for (const auto& word : words) {
        const auto colon = word.find(':');
        if (colon != std::string::npos) ordered[std::stoul(word.substr(1))] = word.substr(colon + 1);
    }
    return ordered;
}

std::string written(const std::string& aside, const CheckpointPart& part, const TrainingState& state,
                    const model::Parameters& parameters) {
    if (!part.writes) return {is_fine};
    std::error_code ignored;
    if (!std::filesystem::exists(aside, ignored))
        return is_error + aside +
               " is not there for this rank: ranks that write a checkpoint together need --run in a folder "
               "that "
               "all of them see";
    auto made = write_part(aside, part, state, parameters);
    if (made.error) return is_error + *made.error;
    return is_fine + std::to_string(part.index) + ":" + made.word;
}

}  // namespace

std::string save_together(distributed::Group& world, std::int64_t number, const std::string& folder,
                          const CheckpointPart& part, const TrainingState& state,
                          const model::Parameters& parameters, std::int64_t keep) {
    const auto meet = [&](const char* when, const std::string& word) {
        return distributed::meet(world.store(), world.place(), "checkpoint " + std::to_string(number) + when,
                                 word, long_wait_seconds);
    };
    const bool first = world.rank() == 0;
    std::string word;
    if (first) {
        const auto begun = begin_checkpoint(folder, state.progression);
        word = begun.error ? is_error + *begun.error : is_fine + begun.aside;
    }
    const auto said = meet(" begins", word).front();
    if (auto error = error_in(said); !error.empty()) return error;
    const auto name = std::filesystem::path(said.substr(1)).filename().string();
    if (name.empty()) return "";  // one of this state is there
    const auto aside = folder + "/" + name;
    const auto words = meet(" is written", written(aside, part, state, parameters));
    std::string errors;
    for (std::size_t rank = 0; rank < words.size(); ++rank)
        if (const auto error = error_in(words[rank]); !error.empty())
            errors += (errors.empty() ? "rank " : "\nrank ") + std::to_string(rank) + ": " + error;
    if (!errors.empty()) {
        if (first) give_up_checkpoint(aside);
        return errors;
    }
    word.clear();
    if (first) {
        const auto error = finish_checkpoint(folder, aside, state, in_order(words, part.count), keep);
        word = error ? is_error + *error : std::string(1, is_fine);
    }
    return error_in(meet(" is whole", word).front());
}

}  // namespace switchyard::train
