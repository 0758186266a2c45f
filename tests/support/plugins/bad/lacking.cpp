// The library that `lacks_library` is linked with; put where nobody finds it.
int lacking() { return 1; }
