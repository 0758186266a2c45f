// A descriptor that is open already, the standard input say, as a stream's buffer to read from. At least four
// bytes that were read can be put back, whatever comes in at once.
#pragma once

#include <functional>
#include <streambuf>
#include <vector>

#include <sys/types.h>

namespace switchyard::base {

class DescriptorBuffer final : public std::streambuf {
public:
    // Does not close it. Once `interrupted` holds, which is looked at several times a second while there is
    // nothing to read, no more is read, as if the text had ended.
    explicit DescriptorBuffer(int descriptor, std::function<bool()> interrupted = {});

protected:
    // Throws std::ios_base::failure with the system's reason where nothing can be read.
    int_type underflow() override;

private:
    bool wait() const;
    ssize_t read_some(char* into) const;

    int descriptor_;
    std::function<bool()> interrupted_;
    std::vector<char> bytes_;
};

}  // namespace switchyard::base
