#include "core/kernel/loader/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

namespace switchyard::loader {

namespace {

constexpr std::uint64_t most_entries = 4096;  // of any table
constexpr std::uint64_t longest_string = 4096;
constexpr std::uint64_t largest_section = 1 << 20;

struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Reader {
public:
    explicit Reader(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        struct stat status {};
        if (fd_ >= 0 && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode))
            size_ = static_cast<std::uint64_t>(status.st_size);
        error_ = fd_ < 0 ? errno : 0;
    }
    ~Reader() {
        if (fd_ >= 0) ::close(fd_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    int error() const { return error_; }
    std::uint64_t size() const { return size_; }

    void bytes(std::uint64_t offset, void* to, std::uint64_t count, const char* what) const {
        if (offset > size_ || count > size_ - offset) {
            throw Malformed("is truncated or damaged: " + std::string(what) + " would end at byte " +
                            (count > UINT64_MAX - offset ? "2^64 or later" : std::to_string(offset + count)) +
                            " of " + std::to_string(size_));
        }
        auto* out = static_cast<char*>(to);
        while (count > 0) {
            const ssize_t got = ::pread(fd_, out, count, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0)
                throw Malformed("could not be read: " +
                                std::string(got < 0 ? std::strerror(errno) : "it became shorter"));
            out += got;
            offset += static_cast<std::uint64_t>(got);
            count -= static_cast<std::uint64_t>(got);
        }
    }

    template <class T>
    T read(std::uint64_t offset, const char* what) const {
        T value{};
        bytes(offset, &value, sizeof(T), what);
        return value;
    }

    template <class T>
    std::vector<T> table(std::uint64_t offset, std::uint64_t count, const char* what) const {
        if (count > most_entries)
            throw Malformed("is damaged: " + std::string(what) + " has " + std::to_string(count) +
                            " entries");
        std::vector<T> entries(count);
        if (count > 0) bytes(offset, entries.data(), count * sizeof(T), what);
        return entries;
    }

    // Up to the terminating zero, which must come within the file.
    std::string string(std::uint64_t offset, const char* what) const {
        std::string text;
        std::array<char, 128> chunk;
        while (text.size() < longest_string) {
            if (offset >= size_) break;
            const auto count = std::min<std::uint64_t>(chunk.size(), size_ - offset);
            bytes(offset, chunk.data(), count, what);
            const auto* end = static_cast<const char*>(std::memchr(chunk.data(), 0, count));
            if (end != nullptr)
                return text.append(chunk.data(), static_cast<std::size_t>(end - chunk.data()));
            text.append(chunk.data(), count);
            offset += count;
        }
        throw Malformed("is truncated or damaged: the text of " + std::string(what) + " has no end");
    }

private:
    int fd_;
    int error_ = 0;
    std::uint64_t size_ = 0;
};

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    if (b > UINT64_MAX - a) throw Malformed("is damaged: an offset is larger than 2^64");
    return a + b;
}

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

std::string read_build_id(const Reader& file, const std::vector<Elf64_Phdr>& segments) {
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_NOTE) continue;
        std::uint64_t at = segment.p_offset;
        const std::uint64_t end = sum(at, segment.p_filesz);
        for (std::uint64_t i = 0; i < most_entries && at < end && end - at >= sizeof(Elf64_Nhdr); ++i) {
            const auto note = file.read<Elf64_Nhdr>(at, "a note");
            const std::uint64_t name = at + sizeof(note);
            const std::uint64_t content = name + ((std::uint64_t{note.n_namesz} + 3) & ~std::uint64_t{3});
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 64 &&
                file.read<std::array<char, 4>>(name, "a note") == std::array<char, 4>{'G', 'N', 'U', '\0'}) {
                std::string id(note.n_descsz, '\0');
                file.bytes(content, id.data(), id.size(), "its build id");
                return hexadecimal(id);
            }
            at = content + ((std::uint64_t{note.n_descsz} + 3) & ~std::uint64_t{3});
        }
    }
    return {};
}

std::optional<std::string> read_section(const Reader& file, const Elf64_Ehdr& header,
                                        std::string_view wanted) {
    if (header.e_shoff == 0 || header.e_shnum == 0) return std::nullopt;
    if (header.e_shentsize != sizeof(Elf64_Shdr))
        throw Malformed("is damaged: its section headers have another size");
    const auto sections = file.table<Elf64_Shdr>(header.e_shoff, header.e_shnum, "its section headers");
    if (header.e_shstrndx >= sections.size())
        throw Malformed("is damaged: its section names are in no section");
    const std::uint64_t names = sections[header.e_shstrndx].sh_offset;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_PROGBITS ||
            file.string(sum(names, section.sh_name), "a section name") != wanted)
            continue;
        if (section.sh_size > largest_section)
            throw Malformed("has a section " + std::string(wanted) + " of more than 1 MiB");
        std::string content(section.sh_size, '\0');
        file.bytes(section.sh_offset, content.data(), content.size(), "its manifest");
        return content;
    }
    return std::nullopt;
}

// What the dynamic loader goes by: segments, and the entries of the dynamic section. Section headers,
// which it does not read, may say anything.
class DynamicView {
public:
    explicit DynamicView(const Reader& file) : file_(file) {
        const auto header = file.read<Elf64_Ehdr>(0, "its header");
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr))
            throw Malformed("is no 64-bit ELF file");
        segments_ = file.table<Elf64_Phdr>(header.e_phoff, header.e_phnum, "its program headers");
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_DYNAMIC) continue;
            for (const Elf64_Dyn& entry : file.table<Elf64_Dyn>(
                     segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn), "its dynamic section")) {
                if (entry.d_tag == DT_NULL) break;
                entries_.emplace(entry.d_tag, entry.d_un.d_val);
            }
        }
    }

    std::vector<std::string> imports() const {
        std::set<std::uint32_t> symbols;
        add_symbols(DT_RELA, DT_RELASZ, symbols);
        add_symbols(DT_JMPREL, DT_PLTRELSZ, symbols);
        std::set<std::string> names;
        for (const std::uint32_t symbol : symbols) {
            const auto at = sum(value(DT_SYMTAB), std::uint64_t{symbol} * sizeof(Elf64_Sym));
            const auto entry = file_.read<Elf64_Sym>(in_file(at), "a symbol");
            if (entry.st_shndx == SHN_UNDEF && entry.st_name != 0)
                names.insert(file_.string(in_file(sum(value(DT_STRTAB), entry.st_name)), "a symbol's name"));
        }
        return {names.begin(), names.end()};
    }

private:
    static constexpr std::uint64_t most_relocations = 1 << 22;

    std::uint64_t value(std::int64_t tag) const {
        const auto found = entries_.find(tag);
        return found == entries_.end() ? 0 : found->second;
    }

    std::uint64_t in_file(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return sum(segment.p_offset, address - segment.p_vaddr);
        }
        throw Malformed("is damaged: an address of its dynamic section is in no segment");
    }

    void add_symbols(std::int64_t where, std::int64_t size, std::set<std::uint32_t>& symbols) const {
        const std::uint64_t count = value(size) / sizeof(Elf64_Rela);
        if (count == 0) return;
        if (count > most_relocations)
            throw Malformed("is damaged: it has " + std::to_string(count) + " relocations");
        const std::uint64_t begin = in_file(value(where));
        for (std::uint64_t done = 0; done < count; done += most_entries) {
            for (const Elf64_Rela& one :
                 file_.table<Elf64_Rela>(sum(begin, done * sizeof(Elf64_Rela)),
                                         std::min(most_entries, count - done), "its relocations")) {
                if (const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(one.r_info)); symbol != 0)
                    symbols.insert(symbol);
            }
        }
    }

    const Reader& file_;
    std::vector<Elf64_Phdr> segments_;
    std::map<std::int64_t, std::uint64_t> entries_;
};

ElfResult failed(ElfError error, std::string message) { return {{}, error, std::move(message)}; }

}  // namespace

ElfResult read_elf(const std::string& path, std::string_view section) {
    const Reader file(path);
    if (file.error() != 0)
        return failed(ElfError::unreadable,
                      "could not be opened: " + std::string(std::strerror(file.error())));
    ElfResult result;
    try {
        std::array<unsigned char, EI_NIDENT> ident{};
        file.bytes(0, ident.data(), std::min<std::uint64_t>(ident.size(), file.size()), "its header");
        if (std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) {
            return failed(
                ElfError::not_elf,
                file.size() == 0 ? "is empty" : "is no ELF file (a shared library begins with 0x7f 'ELF')");
        }
        if (ident[EI_CLASS] != ELFCLASS64) return failed(ElfError::other_class, "is a 32-bit library");
        if (ident[EI_DATA] != ELFDATA2LSB) return failed(ElfError::other_class, "is a big-endian library");
        const auto header = file.read<Elf64_Ehdr>(0, "its header");
        result.image.machine = header.e_machine;
        result.image.shared = header.e_type == ET_DYN;
        if (header.e_phentsize != sizeof(Elf64_Phdr))
            throw Malformed("is damaged: its program headers have another size");
        result.image.build_id = read_build_id(
            file, file.table<Elf64_Phdr>(header.e_phoff, header.e_phnum, "its program headers"));
        if (!section.empty()) result.image.section = read_section(file, header, section);
    } catch (const Malformed& error) {
        result.error = ElfError::malformed;
        result.message = error.what();
    }
    return result;
}

ElfImports imported_symbols(const std::string& path) {
    const Reader file(path);
    if (file.error() != 0) return {{}, "could not be opened: " + std::string(std::strerror(file.error()))};
    try {
        return {DynamicView(file).imports(), {}};
    } catch (const Malformed& error) {
        return {{}, error.what()};
    }
}

std::string machine_name(std::uint16_t machine) {
    switch (machine) {
        case EM_X86_64:
            return "x86-64";
        case EM_AARCH64:
            return "AArch64";
        case EM_PPC64:
            return "PowerPC64";
        case EM_RISCV:
            return "RISC-V";
        case EM_S390:
            return "S/390";
        default:
            return "machine " + std::to_string(machine);
    }
}

}  // namespace switchyard::loader
