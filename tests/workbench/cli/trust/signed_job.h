// What the tests of trust share: a job whose activation comes from a plugin of somebody else's, a copy of
// `test_good` in a folder of its own, and a user with keys.
#pragma once

#include <string>

#include "tiny_job.h"

namespace switchyard::test {

class SignedJob {
public:
    SignedJob();

    TinyJob job;
    std::string library, signature;  // of the plugin; the second is not there yet
    std::string key;                 // secret; key + ".pub" the public one, which nobody trusts yet
    RunOptions options;

    // Of the job: the plugin's activation.
    Words with_plugin(const Words& begin, const Words& sets = {}) const;
    void trust_key() const;
    void sign() const;
    // One bit in it that nothing reads.
    void change_library() const;
};

}  // namespace switchyard::test
