// Needs a library that is not where the loader looks.
int lacking();
int (*volatile lacks_library_keep)() = lacking;
