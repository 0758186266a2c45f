// Whether this is a build with the address or the thread sanitizer: the memory in which they keep books
// counts for limits, under which nothing runs then.
#pragma once

namespace switchyard::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// The thread sanitizer calls a handler when the call that a signal interrupts has returned, which one that is
// begun again does not; and it reports exit() within dlopen(), of which it is not done, as a fault.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

}  // namespace switchyard::test
