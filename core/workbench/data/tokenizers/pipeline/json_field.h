// A value of a JSON file with its path there, for readers that refuse whatever they do not understand:
// "tokenizer.json: error: normalizer.normalizers[1].type: 'Foo' is not known; expected one of ...".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"

namespace switchyard::data {

// An error that names its place.
struct FieldError : base::InputError {
    using base::InputError::InputError;
};

class JsonField {
public:
    // A whole file. `file` outlives this and all that comes of it, and so does `value`.
    JsonField(const std::string& file, const base::Json& value) : file_(&file), value_(&value) {}

    // Each throws InputError naming file and path where the value is not as it is asked for.
    JsonField at(const char* key) const;                   // of an object that has it
    std::optional<JsonField> find(const char* key) const;  // nothing: it is not there, or null
    std::vector<JsonField> list() const;
    std::vector<std::pair<std::string, JsonField>> members() const;
    std::string text() const;
    std::string character() const;  // a text of one character
    bool flag() const;
    std::int64_t integer(std::int64_t least, std::int64_t most) const;
    double number() const;
    // The place of a text in `names`.
    std::size_t one_of(std::initializer_list<std::string_view> names) const;
    // Every other key of this object is refused.
    void only(std::initializer_list<std::string_view> keys) const;

    bool is_null() const { return value_->is_null(); }
    bool is_text() const { return value_->is_string(); }
    bool is_list() const { return value_->is_array(); }
    bool is_object() const { return value_->is_object(); }
    const base::Json& value() const { return *value_; }
    [[noreturn]] void fail(const std::string& what) const;
    // What `make` makes; an InputError of it without a place gets this one.
    template <class Make>
    auto made(const Make& make) const {
        try {
            return make();
        } catch (const FieldError&) {
            throw;
        } catch (const base::InputError& error) {
            fail(error.what());
        }
    }

private:
    JsonField(const std::string& file, const base::Json& value, std::string path)
        : file_(&file), value_(&value), path_(std::move(path)) {}
    JsonField below(const std::string& key, const base::Json& value) const;
    [[noreturn]] void expected(const std::string& what) const;

    const std::string* file_;
    const base::Json* value_;
    std::string path_;
};

}  // namespace switchyard::data
