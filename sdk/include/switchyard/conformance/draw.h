// Choices by chance that a seed repeats, from which drawn cases are made.
//
// A drawn case depends on its kind, its number, the seed and what the component's `supports` accepts, on
// nothing else. It is drawn in attempts: what `supports` refuses is drawn again, each time with fewer
// specialties, and the last attempt has none, so that components that serve little get cases too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/range.h>

namespace switchyard::conformance {

class Draw {
public:
    static constexpr int attempts = 200;

    // The choices of one attempt (0, 1, ...) at the drawn case of that number.
    Draw(Kind kind, std::int64_t number, int attempt, std::uint64_t seed);

    // "drawn/17": the family in names of its cases.
    const std::string& family() const { return family_; }

    // All from low to high alike.
    std::int64_t between(std::int64_t low, std::int64_t high);
    // From low to high, 0 < low: as likely between 1 and 10 as between 10 and 100.
    std::int64_t size(std::int64_t low, std::int64_t high);
    bool chance(double p);
    // Like chance in the first attempt, less likely in each later one.
    bool special(double p);

    template <class T>
    T one_of(const std::vector<T>& all) {
        return all[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(all.size()) - 1))];
    }
    template <class T>
    T one_of(std::initializer_list<T> all) {
        return one_of(std::vector<T>(all));
    }

protected:
    Draw(Kind kind, std::string family, int attempt, std::uint64_t seed);

private:
    double fraction();  // 0 <= fraction < 1

    std::string family_;
    std::uint64_t seed_;
    std::uint32_t next_ = 0;
    double special_;
};

// Choices for a case of a given request (VerifyOptions::requests): of each of its dimensions the first case
// takes the smallest size, the second the largest, others any between.
class RequestDraw : public Draw {
public:
    // Case `number` of request `request`: "asked/2/0".
    RequestDraw(Kind kind, std::int64_t request, std::int64_t number, std::uint64_t seed);

    bool largest() const { return number_ == 1; }
    // Within the range, but no more than `most`, which limits what a case takes.
    std::int64_t within(Range range, std::int64_t most);

private:
    std::int64_t number_;
};

}  // namespace switchyard::conformance
