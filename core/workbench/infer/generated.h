// What every way of choosing tokens is asked for, and what it gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

// What ended a row.
enum class End : std::uint8_t {
    eos,          // a token that ends it
    stop,         // its text, or a stop token
    limit,        // max_tokens, or the model's last position
    interrupted,  // whoever asked did not want more
};

struct Generated {
    Ids ids;  // new ones, without the token that ended them
    End end = End::limit;
    double score = 0.0;  // of beams: the sum of the logarithms over length ^ length_penalty
};

struct GenerationRequest {
    std::vector<Beginning> prompts;
    std::int64_t samples = 1;       // of each
    std::int64_t first_sample = 0;  // the number of the first of them
    std::int64_t batch = 1;         // rows at a time at most
    std::int64_t max_tokens = 0;    // new ones of each row; 0: as many as positions leave room for
    std::int64_t max_length = 0;    // of what a row may give the model
    std::uint64_t seed = 0;         // a sample draws from it and from its number alone
    std::int64_t eos = -1;          // -1: none
    Ids stop_tokens;

    // New tokens of a row that begins so.
    std::int64_t room(const Beginning& prompt) const {
        const auto left = max_length - static_cast<std::int64_t>(prompt.grown.size()) + 1;
        return max_tokens > 0 ? std::min(max_tokens, left) : left;
    }
    bool stops_at(std::int64_t token) const {
        return std::find(stop_tokens.begin(), stop_tokens.end(), token) != stop_tokens.end();
    }
    bool ends_at(std::int64_t token) const { return token == eos || stops_at(token); }
    End end_at(std::int64_t token) const { return token == eos ? End::eos : End::stop; }
};

struct GenerationHooks {
    // After each new token of a sample, with all its new ones: whether its text has ended there.
    std::function<bool(std::size_t prompt, std::size_t sample, const Ids& ids)> ended = {};
    // Looked at before each step.
    std::function<bool()> interrupted = {};

    bool stop() const { return interrupted && interrupted(); }
};

// By prompt, then by sample.
using GeneratedSamples = std::vector<std::vector<Generated>>;

}  // namespace switchyard::infer
