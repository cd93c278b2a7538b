# session.pb-c.{h,c} from client-stub/wire/session.proto, for the server's reader (fw_wire).
if(FW_SERVER)
  pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
  find_program(PROTOC_C protoc-c REQUIRED)
  set(wire ${PROJECT_SOURCE_DIR}/client-stub/wire)
  set(out ${PROJECT_BINARY_DIR}/wire)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/session.pb-c.c ${out}/session.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${wire} --c_out=${out} session.proto
    DEPENDS ${wire}/session.proto)
  add_library(fw_wire STATIC ${out}/session.pb-c.c ${out}/session.pb-c.h)
  target_include_directories(fw_wire SYSTEM PUBLIC ${out})
  target_link_libraries(fw_wire PUBLIC PkgConfig::PROTOBUF_C)
endif()
