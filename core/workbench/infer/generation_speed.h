// How long generating took: reading the prompts (prefill) and what came after (decoding) apart.
#pragma once

#include <chrono>
#include <cstdint>

namespace switchyard::infer {

struct GenerationSpeed {
    std::int64_t prefill_tokens = 0;  // that prompts were read of, once for all samples of one
    double prefill_seconds = 0.0;     // until the first tokens were chosen
    std::int64_t batches = 0;         // how often there were first tokens
    std::int64_t decoded_tokens = 0;  // all but the first of each text; of beams one for all of them
    double decode_seconds = 0.0;

    double prefill_rate() const { return rate(prefill_tokens, prefill_seconds); }
    double decode_rate() const { return rate(decoded_tokens, decode_seconds); }
    // Of a batch, in the mean.
    double first_token_seconds() const {
        return batches > 0 ? prefill_seconds / static_cast<double>(batches) : 0.0;
    }

private:
    static double rate(std::int64_t tokens, double seconds) {
        return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
    }
};

// Begun with a batch; says what its time went to.
class GenerationClock {
public:
    explicit GenerationClock(GenerationSpeed& speed) : speed_(speed) {}

    // The first tokens were chosen. `tokens`: of the prompts.
    void prefilled(std::int64_t tokens) {
        speed_.prefill_tokens += tokens;
        speed_.prefill_seconds += passed();
        ++speed_.batches;
    }
    // A step came after which there are so many tokens more.
    void decoded(std::int64_t tokens) {
        speed_.decoded_tokens += tokens;
        speed_.decode_seconds += passed();
    }

private:
    // Since it was last asked.
    double passed() {
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double> seconds = now - last_;
        last_ = now;
        return seconds.count();
    }

    GenerationSpeed& speed_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace switchyard::infer
