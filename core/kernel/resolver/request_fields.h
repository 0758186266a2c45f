// A request as a list of named fields, so that comparing, describing and relaxing one needs no code per kind.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::resolver {

using FieldValue =
    std::variant<bool, std::int64_t, double, Range, DType, Device, Layout, Phase, MaskSet, NormKind,
                 ActivationKind, OptimizerKind, WeightFormat, LossKind, InputQuantization, std::string>;

struct Field {
    std::string_view name;  // of the member, as it stands in reasons: "head_dim"
    FieldValue value;
    bool operator==(const Field&) const = default;
};

// `request` is of the type that belongs to `kind`, here and below.
std::vector<Field> fields(Kind kind, const Request& request);

// Gives the field that value; a name or type that the request does not have is ignored.
void set_field(Kind kind, Request& request, std::string_view name, const FieldValue& value);

std::shared_ptr<Request> clone(Kind kind, const Request& request);

bool equal(Kind kind, const Request& a, const Request& b);

// Is the field off, so that a description can leave it out?
bool is_off(const FieldValue& value);

// Does the field say that the formula is one of a component's own?
bool names_custom(const FieldValue& value);

// The name of the formula that only a component of that name's own knows; empty: it is one that all know.
std::string custom_name(Kind kind, const Request& request);

// "12", "1..512", "float32", "causal+key_lengths" ("none" for an empty set), "yes", "no".
std::string to_text(const FieldValue& value);

// One line: "float32 on cpu, padded, batch 1..32, heads 12, ..., masks key_lengths, dropout 0.1, needs_grad".
// What is off is left out.
std::string in_words(Kind kind, const Request& request);

}  // namespace switchyard::resolver
