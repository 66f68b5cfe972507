# cmake -D INPUT=FILE -D OUTPUT=FILE.c -P embed.cmake: the file as the C array kernel_object, and its size.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "#include <stddef.h>

extern const unsigned char kernel_object[];
extern const size_t kernel_object_bytes;

_Alignas(8) const unsigned char kernel_object[] = { ${bytes} };
const size_t kernel_object_bytes = sizeof(kernel_object);
")
