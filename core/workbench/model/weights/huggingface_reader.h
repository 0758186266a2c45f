// One config.json, key by key, with an account of what was read. A key that was not read and says how the
// model computes is refused by name unless its value is the one that changes nothing; keys of training,
// generation and files are passed; of all others a note is made.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace switchyard::model {

// Every failure is a std::invalid_argument naming the key, what was expected and what came. null is no value.
class HuggingFaceReader {
public:
    // `prefix`: of the names in messages, where `object` is a part of the file; outlived by `object`.
    explicit HuggingFaceReader(const nlohmann::json& object, std::string prefix = "");

    bool has(const char* key) const;
    std::int64_t whole(const char* key) const;
    std::int64_t whole(const char* key, std::int64_t otherwise) const;
    double number(const char* key, double otherwise) const;
    bool flag(const char* key, bool otherwise) const;
    std::string text(const char* key, const char* otherwise) const;
    // A part, read like a file of its own; `key` must be there.
    HuggingFaceReader part(const char* key) const;

    // For what is computed in one way only.
    void expect(const char* key, const nlohmann::json& only) const;
    // Refuses what was not read and, as far as is known, changes what a transformer computes. Returns the
    // names of the keys that are not known at all.
    std::vector<std::string> refuse_the_rest() const;

    [[noreturn]] void refuse(const char* key, const std::string& expected) const;

private:
    const nlohmann::json& object_;
    std::string prefix_;
    mutable std::set<std::string, std::less<>> read_;
};

}  // namespace switchyard::model
