# web_files.c: the page as parts of framewatchd, made of server/web/src by npm and esbuild in
# build/…/web; with FW_WEB=OFF an empty table, and the server says that its page is missing.
set(web ${PROJECT_SOURCE_DIR}/server/web)
set(web_out ${PROJECT_BINARY_DIR}/web)
file(MAKE_DIRECTORY ${web_out})
if(FW_WEB)
  find_program(FW_NODE NAMES node nodejs)
  find_program(FW_NPM npm)
  find_program(FW_ZSTD zstd)
  if(NOT FW_NODE OR NOT FW_NPM OR NOT FW_ZSTD)
    message(FATAL_ERROR "The page needs node (18 or later), npm and zstd: install them "
                        "(deploy/packages.sh build), or configure with -DFW_WEB=OFF")
  endif()
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*)
  # npm's stamp: again only when the lock file changes
  add_custom_command(
    OUTPUT ${web_out}/installed
    COMMAND ${CMAKE_COMMAND} -E copy ${web}/package.json ${web}/package-lock.json ${web}/.npmrc ${web_out}
    COMMAND ${FW_NPM} ci --no-progress --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${web_out}/installed
    DEPENDS ${web}/package.json ${web}/package-lock.json ${web}/.npmrc
    WORKING_DIRECTORY ${web_out}
    COMMENT "npm ci: libraries of the page"
    VERBATIM)
  add_custom_command(
    OUTPUT ${web_out}/web_files.c
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${web_out}/src
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${web}/src ${web_out}/src
    COMMAND ${CMAKE_COMMAND} -E copy ${web}/build.mjs ${web}/check.mjs ${web}/tsconfig.json ${web_out}
    COMMAND ${FW_NODE} build.mjs --zstd=${FW_ZSTD}
    DEPENDS ${web_out}/installed ${web}/build.mjs ${web}/check.mjs ${web}/tsconfig.json ${web_sources}
    WORKING_DIRECTORY ${web_out}
    COMMENT "esbuild: the page"
    VERBATIM)
  # Types, and that every text has its Chinese one; not part of the build.
  add_custom_target(web_check
    COMMAND ${FW_NODE} node_modules/typescript/bin/tsc --noEmit
    COMMAND ${FW_NODE} check.mjs
    DEPENDS ${web_out}/web_files.c
    WORKING_DIRECTORY ${web_out}
    VERBATIM)
else()
  file(CONFIGURE OUTPUT ${web_out}/web_files.c @ONLY CONTENT [[
#include "server/web/web.h"

const struct web_file web_files[1];
const size_t web_files_n = 0;
]])
endif()

fw_folder(fw_web web fw_api fw_http)
target_sources(fw_web PRIVATE ${web_out}/web_files.c)
