// A component's own options: declared in its plugin.toml, checked by the core, read by the component.
//
// The core fills in defaults and checks type, range and choices before `create`, so a component reads without
// checking:
//     const auto chunk = options.integer("chunk_size");
// Asking for an option that was not declared is a bug in the plugin and throws std::out_of_range naming it.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace switchyard {

// An option of a component has one of the first five.
using OptionValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, std::vector<double>>;

class Options {
public:
    bool boolean(std::string_view name) const { return get<bool>(name); }
    std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
    double number(std::string_view name) const { return get<double>(name); }
    const std::string& string(std::string_view name) const { return get<std::string>(name); }
    const std::vector<std::string>& list(std::string_view name) const {
        return get<std::vector<std::string>>(name);
    }

    bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
    void set(std::string name, OptionValue value) {
        values_.insert_or_assign(std::move(name), std::move(value));
    }
    const std::map<std::string, OptionValue, std::less<>>& values() const { return values_; }
    bool operator==(const Options&) const = default;

private:
    template <class T>
    const T& get(std::string_view name) const {
        const auto found = values_.find(name);
        if (found == values_.end())
            throw std::out_of_range("option '" + std::string(name) + "' is not declared in plugin.toml");
        const T* value = std::get_if<T>(&found->second);
        if (value == nullptr)
            throw std::out_of_range("option '" + std::string(name) +
                                    "' is read as another type than plugin.toml declares");
        return *value;
    }
    std::map<std::string, OptionValue, std::less<>> values_;
};

}  // namespace switchyard
