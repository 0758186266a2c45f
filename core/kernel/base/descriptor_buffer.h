// A descriptor that is open already, the standard input say, as a stream's buffer to read from. At least four
// bytes that were read can be put back, whatever comes in at once.
#pragma once

#include <streambuf>
#include <vector>

namespace switchyard::base {

class DescriptorBuffer final : public std::streambuf {
public:
    // Does not close it.
    explicit DescriptorBuffer(int descriptor);

protected:
    // Throws std::ios_base::failure with the system's reason where nothing can be read.
    int_type underflow() override;

private:
    int descriptor_;
    std::vector<char> bytes_;
};

}  // namespace switchyard::base
