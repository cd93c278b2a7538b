# cmake -DIN=sql/queries -DOUT=build/queries -DPREFIX=Q -DNOUN=query -P EmbedSql.cmake
# Each IN/NAME.sql becomes PREFIX_NAME, an index into NOUN_name[] and NOUN_text[].
file(GLOB files ${IN}/*.sql)
list(SORT files)
foreach(f ${files})
  get_filename_component(name ${f} NAME_WE)
  string(TOUPPER ${name} id)
  file(READ ${f} text)
  string(APPEND enums "    ${PREFIX}_${id},\n")
  string(APPEND names "    \"${name}\",\n")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND texts "    \"${text}\",\n")
endforeach()
get_filename_component(header ${OUT} NAME)
string(TOUPPER ${NOUN} noun_id)
file(WRITE ${OUT}.h "#pragma once\nenum ${NOUN} {\n${enums}    ${noun_id}_COUNT\n};\n"
  "extern const char *const ${NOUN}_name[${noun_id}_COUNT];\n"
  "extern const char *const ${NOUN}_text[${noun_id}_COUNT];\n")
file(WRITE ${OUT}.c "#include \"${header}.h\"\n"
  "const char *const ${NOUN}_name[${noun_id}_COUNT] = {\n${names}};\n"
  "const char *const ${NOUN}_text[${noun_id}_COUNT] = {\n${texts}};\n")
