// What all ranks can write to and read from, one of them or torchrun serving it: small texts under keys. It
// is what they talk through before they can compute together, and when they cannot any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::distributed {

class Store {
public:
    virtual ~Store() = default;
    // All throw StoreGone where whoever serves it does not answer.
    virtual void set(const std::string& key, const std::string& value) = 0;
    // nullopt: nobody has set it.
    virtual std::optional<std::string> get(const std::string& key) = 0;
    // The number under that key after `amount` was added to it; it begins with 0.
    virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
    // Whether all of them are set, waiting for it for at most that long.
    virtual bool wait(const std::vector<std::string>& keys, double seconds) = 0;
};

}  // namespace switchyard::distributed
