// Any JSON text: base's reader takes exactly what nlohmann's parser takes, what nests within the limit and
// has no name twice and no NUL byte, and says where it breaks off.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/kernel/base/json_text.h"

#include "fuzz.h"

namespace {

using switchyard::base::Json;
using namespace switchyard::fuzz;

// Counts how deep a text nests, by the parser's own events. Texts that are no JSON end early.
struct Depth : nlohmann::json_sax<Json> {
    std::size_t open = 0, deepest = 0;
    std::vector<std::set<std::string>> names;  // of the objects that are open
    bool twice = false;                        // a name stands in an object twice
    bool deeper() {
        deepest = std::max(deepest, ++open);
        return true;
    }
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool key(string_t& name) override {
        twice = twice || !names.back().insert(name).second;
        return true;
    }
    bool start_object(std::size_t) override {
        names.emplace_back();
        return deeper();
    }
    bool end_object() override {
        names.pop_back();
        return --open, true;
    }
    bool start_array(std::size_t) override { return deeper(); }
    bool end_array() override { return --open, true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace base = switchyard::base;
    const auto text = text_of(data, size);
    Depth depth;
    const bool accepted = Json::sax_parse(text, &depth);
    const bool shallow = depth.deepest <= base::limits::json_depth;
    const bool taken = accepted && shallow && !depth.twice && text.find('\0') == std::string::npos;
    const auto parsed = base::parse_json(text, "a.json", 7);
    if (!parsed.error.empty()) {
        require(!taken, "valid JSON is refused", parsed.error);
        require(parsed.error.starts_with("a.json:"), "an error without a place", parsed.error);
        require_message(parsed.error);
        return 0;
    }
    require(taken, "what is no JSON, nests too deep or has a name twice is taken", text);
    const auto again = base::parse_json(parsed.value.dump(), "again.json");
    require(again.error.empty() && again.value == parsed.value, "a value does not come back", again.error);
    (void)base::shown(parsed.value);
    (void)base::text_of(parsed.value, "a");
    (void)base::number_of(parsed.value, "a");
    return 0;
}
