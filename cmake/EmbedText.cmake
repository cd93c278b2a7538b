# cmake -DIN=file -DOUT=build/name -DNAME=name -P EmbedText.cmake
# The file's text as `const char NAME[]` of NAME_len bytes, in OUT.c and OUT.h.
file(READ ${IN} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
get_filename_component(header ${OUT} NAME)
file(WRITE ${OUT}.h "#pragma once\n#include <stddef.h>\n\nextern const char ${NAME}[];\n"
  "extern const size_t ${NAME}_len;\n")
file(WRITE ${OUT}.c "#include \"${header}.h\"\n\nconst char ${NAME}[] =\n    \"${text}\";\n"
  "const size_t ${NAME}_len = sizeof ${NAME} - 1;\n")
