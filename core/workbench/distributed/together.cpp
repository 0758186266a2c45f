#include "core/workbench/distributed/together.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/kernel/base/joined.h"

namespace switchyard::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double turn_seconds = 0.2;        // between two looks at whether somebody ended
const std::string someone_ended = "ended";  // or does not answer: then why that is thought

class Deadline {
public:
    explicit Deadline(double seconds) : end_(Clock::now() + std::chrono::duration<double>(seconds)) {}
    double left() const { return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count()); }

private:
    std::chrono::time_point<Clock, std::chrono::duration<double>> end_;
};

std::string key_of(const std::string& what, std::int64_t rank) { return what + "/" + std::to_string(rank); }

// `process`: of those that are this rank, one as a rule.
std::string heard_by(std::int64_t rank, std::int64_t process) {
    return key_of("heard by " + std::to_string(process), rank);
}

std::string words_of(const LastWords& words) {
    return std::string(words.lost ? "lost " : "error ") + std::to_string(words.code) + " " + words.text;
}

LastWords words_from(const std::string& text) {
    const auto first = text.find(' ');
    const auto second = text.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos) return {text, 1, false};
    return {text.substr(second + 1), std::atoi(text.c_str() + first), text.starts_with("lost")};
}

std::string list_of(const std::vector<std::int64_t>& ranks) {
    std::vector<std::string> names;
    for (const auto rank : ranks) names.push_back(std::to_string(rank));
    return (ranks.size() == 1 ? "rank " : "ranks ") + base::joined(names);
}

// What rank 0 says of all. Errors of ranks that are the same are one.
Ending sum_up(const std::map<std::int64_t, LastWords>& heard, const Place& place) {
    std::map<std::string, std::vector<std::int64_t>> errors;
    std::vector<std::int64_t> silent;
    int code = 0;
    for (std::int64_t rank = 0; rank < place.world_size; ++rank) {
        const auto found = heard.find(rank);
        if (found == heard.end()) {
            silent.push_back(rank);
        } else if (!found->second.lost) {
            errors[found->second.text].push_back(rank);
            if (code == 0) code = found->second.code;
        }
    }
    if (errors.empty()) {
        const auto& own = heard.at(place.rank);
        if (silent.empty()) return {own.text, own.code};
        return {"error: " + list_of(silent) + (silent.size() == 1 ? " is" : " are") +
                    " gone or does not answer, and left no word; the others end too (" + own.text + ")",
                own.code};
    }
    std::string text;
    for (const auto& [error, ranks] : errors) {
        const bool all = static_cast<std::int64_t>(ranks.size()) == place.world_size ||
                         (ranks.size() == 1 && ranks.front() == place.rank);
        if (!text.empty() && !text.ends_with('\n')) text += "\n";
        text += (all ? "" : list_of(ranks) + ": ") + error;
    }
    return {text, code};
}

Ending end_as_speaker(Store& store, const Place& place, const LastWords& own, double seconds) {
    std::map<std::int64_t, LastWords> heard{{place.rank, own}};
    const Deadline deadline(seconds);
    for (std::int64_t rank = 0; rank < place.world_size; ++rank) {
        if (rank == place.rank) continue;
        const auto key = key_of("words", rank);
        if (store.wait({key}, deadline.left())) heard[rank] = words_from(*store.get(key));
    }
    const auto ending = sum_up(heard, place);
    store.set("spoken", std::to_string(ending.code));
    // Whoever serves the store goes last, also after several processes that are one rank.
    std::vector<std::string> those_who_hear;
    for (const auto& [rank, words] : heard) {
        if (rank == place.rank) continue;
        const auto processes = store.add(key_of("ended", rank), 0);
        for (std::int64_t process = 1; process <= processes; ++process)
            those_who_hear.push_back(heard_by(rank, process));
    }
    store.wait(those_who_hear, std::min(seconds, 2.0));
    return ending;
}

Ending without_speaker(const LastWords& own) {
    if (!own.lost) return {own.text, own.code};
    return {"error: rank 0, which all ranks meet at, is gone or does not answer (" + own.text + ")",
            own.code};
}

}  // namespace

std::vector<std::string> meet(Store& store, const Place& place, const std::string& meeting,
                              const std::string& word, double seconds) {
    std::vector<std::string> keys;
    for (std::int64_t rank = 0; rank < place.world_size; ++rank) keys.push_back(key_of(meeting, rank));
    store.set(keys[static_cast<std::size_t>(place.rank)], word);
    const Deadline deadline(seconds);
    while (!store.wait(keys, std::min(turn_seconds, deadline.left()))) {
        if (const auto why = store.get(someone_ended))
            throw RankLost(why->empty() ? "another rank ended" : *why);
        if (deadline.left() > 0.0) continue;
        std::vector<std::int64_t> missing;
        for (std::int64_t rank = 0; rank < place.world_size; ++rank)
            if (!store.get(keys[static_cast<std::size_t>(rank)])) missing.push_back(rank);
        throw RankLost("waited " + std::to_string(static_cast<std::int64_t>(seconds)) + " s for " +
                       list_of(missing) + " of " + std::to_string(place.world_size) + " to come");
    }
    std::vector<std::string> words;
    for (const auto& key : keys) words.push_back(*store.get(key));
    return words;
}

void tell_those_who_wait(Store& store, const std::string& why) {
    if (!store.get(someone_ended)) store.set(someone_ended, why);
}

Ending end_together(Store& store, const Place& place, const LastWords& own, double seconds) noexcept {
    try {
        const auto process = store.add(key_of("ended", place.rank), 1);
        if (process == 1) store.set(key_of("words", place.rank), words_of(own));
        store.set(someone_ended, "");
        if (place.rank == 0) return end_as_speaker(store, place, own, seconds);
        if (!store.wait({"spoken"}, 2.0 * seconds)) return without_speaker(own);
        const auto spoken = store.get("spoken");
        store.set(heard_by(place.rank, process), "");
        return {"", own.lost ? std::atoi(spoken->c_str()) : own.code};
    } catch (const std::exception&) {
        return without_speaker(own);
    }
}

}  // namespace switchyard::distributed
