/* The public header alone, as the compilers of a game see it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int run(const char *format, const char *compiler)
{
    char command[1024];

    snprintf(command, sizeof command, format, compiler, FW_SOURCE_DIR);
    return system(command);
}

static bool installed(const char *compiler)
{
    char command[64];

    snprintf(command, sizeof command, "command -v %s >/dev/null", compiler);
    return system(command) == 0;
}

static void compile_with(const char *const *compilers, const char *format)
{
    bool any = false;

    for (size_t i = 0; compilers[i]; i++) {
        if (!installed(compilers[i]))
            continue;
        any = true;
        if (run(format, compilers[i]) != 0)
            fail_msg("%s does not take the header", compilers[i]);
    }
    if (!any)
        skip();
}

#define FLAGS "-Wall -Wextra -pedantic -Werror -fsyntax-only -I%2$s/client-stub/include"

static void the_header_compiles_as_c99(void **state)
{
    const char *const compilers[] = {"gcc", "clang", NULL};

    (void)state;
    compile_with(compilers, "echo '#include <framewatch.h>' | %1$s -x c -std=c99 " FLAGS " -");
}

static void the_header_compiles_as_cxx98(void **state)
{
    const char *const compilers[] = {"g++", "clang++", NULL};

    (void)state;
    compile_with(compilers, "echo '#include <framewatch.h>' | %1$s -x c++ -std=c++98 "
                            "-Wno-long-long -Wno-c++11-long-long " FLAGS " -");
}

static void the_header_needs_only_stddef_and_stdint(void **state)
{
    const char *const greps[] = {"grep", NULL};

    (void)state;
    compile_with(greps,
                 "test \"$(%1$s -h '#include' %2$s/client-stub/include/framewatch.h | sort | "
                 "tr -d '\\n')\" = '#include <stddef.h>#include <stdint.h>'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_compiles_as_c99),
        cmocka_unit_test(the_header_compiles_as_cxx98),
        cmocka_unit_test(the_header_needs_only_stddef_and_stdint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
