#include "core/kernel/loader/content_hash.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <memory>
#include <vector>

#include "core/kernel/loader/elf_image.h"

namespace switchyard::loader {

namespace {

std::string text_of(const XXH128_hash_t& hash) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    std::string text;
    for (const unsigned char byte : bytes.digest) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

}  // namespace

std::string text_hash(const std::string& text) { return text_of(XXH3_128bits(text.data(), text.size())); }

std::string content_hash(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return {};
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
    XXH3_128bits_reset(state.get());
    std::vector<char> chunk(1 << 20);
    ssize_t got = 0;
    while ((got = ::read(fd, chunk.data(), chunk.size())) > 0)
        XXH3_128bits_update(state.get(), chunk.data(), static_cast<std::size_t>(got));
    ::close(fd);
    return got < 0 ? std::string{} : text_of(XXH3_128bits_digest(state.get()));
}

std::string library_id(const std::string& path) {
    const ElfResult elf = read_elf(path);
    if (!elf.image.build_id.empty()) return elf.image.build_id;
    const std::string hash = content_hash(path);
    return hash.empty() ? hash : "xxh3:" + hash;
}

}  // namespace switchyard::loader
