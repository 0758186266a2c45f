#include "core/workbench/data/tokenizers/pipeline/expression.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/expression_syntax.h"

namespace switchyard::data {
namespace {

std::string message_of(int error) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

template <auto release>
struct Release {
    template <class T>
    void operator()(T* object) const {
        release(object);
    }
};

std::string said_of(const std::string& expression, const std::string& what) {
    return "the regular expression '" + base::quoted(expression) + "': " + what;
}

}  // namespace

struct Expression::Compiled {
    std::unique_ptr<pcre2_code, Release<pcre2_code_free>> code;
    std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>> limits;

    // Each thread has its own stack for compiled code: 32 kB of the machine's are too few for a long run.
    static pcre2_jit_stack* stack(void*) {
        constexpr std::size_t least = 64 << 10, most = 16 << 20;
        thread_local const std::unique_ptr<pcre2_jit_stack, Release<pcre2_jit_stack_free>> own(
            pcre2_jit_stack_create(least, most, nullptr));
        return own.get();
    }
};

Expression::Expression(const std::string& text) : text_(text), compiled_(std::make_unique<Compiled>()) {
    if (text.size() > base::limits::expression_bytes)
        throw base::InputError(said_of(text, "has " + std::to_string(text.size()) + " bytes; at most " +
                                                 std::to_string(base::limits::expression_bytes) +
                                                 " are taken"));
    const auto translated = translate_expression(text);
    if (!translated.error.empty()) throw base::InputError(said_of(text, translated.error));
    const std::unique_ptr<pcre2_compile_context, Release<pcre2_compile_context_free>> context(
        pcre2_compile_context_create(nullptr));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 50);
    int error = 0;
    PCRE2_SIZE offset = 0;
    compiled_->code.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(translated.pattern.data()), translated.pattern.size(),
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE, &error,
        &offset, context.get()));
    if (!compiled_->code) throw base::InputError(said_of(text, message_of(error)));
    pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE);  // without it the same is interpreted
    compiled_->limits.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(compiled_->limits.get(), base::limits::expression_steps);
    pcre2_set_heap_limit(compiled_->limits.get(), 64 << 10);  // kB
    pcre2_jit_stack_assign(compiled_->limits.get(), &Compiled::stack, nullptr);
}

Expression::~Expression() = default;

Expression::Search::Search(const Expression& expression, std::string_view text)
    : expression_(expression), text_(text), data_(pcre2_match_data_create(1, nullptr)) {}

Expression::Search::~Search() { pcre2_match_data_free(static_cast<pcre2_match_data*>(data_)); }

bool Expression::Search::find(std::size_t from, TextMatch& match) {
    auto* const data = static_cast<pcre2_match_data*>(data_);
    const auto found =
        pcre2_match(expression_.compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                    text_.size(), from, PCRE2_NO_UTF_CHECK, data, expression_.compiled_->limits.get());
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found < 0)
        throw base::InputError(said_of(expression_.text_, "cannot be matched against a text of " +
                                                              std::to_string(text_.size()) +
                                                              " bytes: " + message_of(found)));
    const auto* const ends = pcre2_get_ovector_pointer(data);
    match = {ends[0], ends[1]};
    return true;
}

}  // namespace switchyard::data
