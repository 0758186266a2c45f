// Keys of the tables of a list, [[data.source]] or [[group]], once each, as table.h has those of the
// sections.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/value.h"

namespace switchyard::config {

template <class Item>
struct ItemField : ValueSpec {  // its key is the name in the table: "weight"
    bool path = false;          // names files, relative to the file that it is written in
    Value (*get)(const Item&) = nullptr;
    void (*set)(Item&, const Value&) = nullptr;
};

template <class Item, auto Member>
ItemField<Item> item_field(std::string_view key, std::string_view help, ValueLimits limits = {},
                           bool path = false) {
    static const Item standard;
    using T = std::remove_cvref_t<decltype(standard.*Member)>;
    ItemField<Item> made;
    made.key = key;
    made.default_value = standard.*Member;
    made.type = static_cast<ValueType>(made.default_value.index());
    made.limits = std::move(limits);
    made.help = help;
    made.path = path;
    made.get = [](const Item& item) -> Value { return item.*Member; };
    made.set = [](Item& item, const Value& value) { item.*Member = std::get<T>(value); };
    return made;
}

}  // namespace switchyard::config
