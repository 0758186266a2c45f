// Needs a function that nobody has.
namespace somewhere {
int not_there(int number);
}
extern "C" int lacks_symbol_use(int number) { return somewhere::not_there(number); }
int (*volatile lacks_symbol_keep)(int) = lacks_symbol_use;
