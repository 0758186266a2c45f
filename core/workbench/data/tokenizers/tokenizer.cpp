#include "core/workbench/data/tokenizers/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <utf8proc.h>

namespace switchyard::data {
namespace {

using Numbers = std::vector<std::int64_t>;

FramedTokens in_frame(const TextFrame& frame, const Numbers& first, const Numbers& second) {
    FramedTokens framed;
    for (const auto& part : frame) {
        const Numbers token{part.id};
        const auto& ids = part.what == FramePart::What::token   ? token
                          : part.what == FramePart::What::first ? first
                                                                : second;
        framed.ids.insert(framed.ids.end(), ids.begin(), ids.end());
        framed.token_type_ids.resize(framed.ids.size(), part.segment);
    }
    return framed;
}

std::size_t tokens_of(const TextFrame& frame) {
    return static_cast<std::size_t>(std::count_if(
        frame.begin(), frame.end(), [](const auto& part) { return part.what == FramePart::What::token; }));
}

std::size_t room_in(const TextFrame& frame, std::int64_t max_length) {
    return static_cast<std::size_t>(
        std::max<std::int64_t>(0, max_length - static_cast<std::int64_t>(tokens_of(frame))));
}

}  // namespace

std::int64_t Tokenizer::filling() const {
    return specials_.pad >= 0 ? specials_.pad : std::max<std::int64_t>(specials_.eos, 0);
}

void Tokenizer::use_plain_frames() {
    using What = FramePart::What;
    const auto token = [](TextFrame& frame, std::int64_t id, std::int64_t segment) {
        if (id >= 0) frame.push_back({What::token, id, segment});
    };
    frame_.clear();
    token(frame_, specials_.bos, 0);
    frame_.push_back({What::first, -1, 0});
    token(frame_, specials_.eos, 0);
    pair_frame_ = frame_;
    pair_frame_.push_back({What::second, -1, 1});
    token(pair_frame_, specials_.eos, 1);
}

std::vector<std::int64_t> Tokenizer::before_text() const {
    Numbers ids;
    for (const auto& part : frame_) {
        if (part.what != FramePart::What::token) break;
        ids.push_back(part.id);
    }
    return ids;
}

std::vector<std::int64_t> Tokenizer::behind_text() const {
    Numbers ids;
    for (auto part = frame_.rbegin(); part != frame_.rend() && part->what == FramePart::What::token; ++part)
        ids.insert(ids.begin(), part->id);
    return ids;
}

std::vector<std::vector<std::int64_t>> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                                               std::size_t threads) const {
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    // Texts that a thread takes: some times more takes than threads, since texts differ in length.
    const auto at_once = std::clamp<std::size_t>(texts.size() / (8 * threads), 1, 64);
    std::vector<Numbers> all(texts.size());
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::atomic<bool> failed = false;
    const auto work = [&] {
        while (!failed) {
            const auto begin = next.fetch_add(at_once);
            if (begin >= texts.size()) return;
            try {
                for (auto i = begin; i < std::min(begin + at_once, texts.size()); ++i)
                    all[i] = encode(texts[i]);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
            }
        }
    };
    threads = std::min(threads, (texts.size() + at_once - 1) / at_once);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    others.clear();  // waits for them
    if (failure) std::rethrow_exception(failure);
    return all;
}

std::vector<std::int64_t> Tokenizer::encode_with_specials(std::string_view text, std::int64_t max_length,
                                                          bool* cut) const {
    return with_specials(encode(text), max_length, cut);
}

FramedTokens Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                    std::int64_t max_length) const {
    return pair_of(encode(first), encode(second), max_length);
}

std::vector<std::int64_t> Tokenizer::with_specials(std::vector<std::int64_t> ids, std::int64_t max_length,
                                                   bool* cut) const {
    const auto room = room_in(frame_, max_length);
    const bool too_long = max_length > 0 && ids.size() > room;
    if (too_long) ids.resize(room);
    if (cut != nullptr) *cut = too_long;
    return in_frame(frame_, ids, {}).ids;
}

FramedTokens Tokenizer::pair_of(std::vector<std::int64_t> first, std::vector<std::int64_t> second,
                                std::int64_t max_length) const {
    const auto room = room_in(pair_frame_, max_length);
    bool cut = false;
    while (max_length > 0 && first.size() + second.size() > room) {
        (first.size() > second.size() ? first : second).pop_back();
        cut = true;
    }
    auto framed = in_frame(pair_frame_, first, second);
    framed.cut = cut;
    return framed;
}

std::size_t find_invalid_utf8(std::string_view text) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto size = static_cast<utf8proc_ssize_t>(text.size());
    for (utf8proc_ssize_t at = 0; at < size;) {
        utf8proc_int32_t codepoint = 0;
        const auto length = utf8proc_iterate(bytes + at, size - at, &codepoint);
        if (length <= 0) return static_cast<std::size_t>(at);
        at += length;
    }
    return std::string_view::npos;
}

std::string utf8_problem(std::string_view text) {
    const auto at = find_invalid_utf8(text);
    return at == std::string_view::npos ? "" : "is not valid UTF-8 at byte " + std::to_string(at + 1);
}

}  // namespace switchyard::data
