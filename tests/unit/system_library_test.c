#include "symbols/system_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_listed_name_is_the_systems(void **state)
{
    (void)state;
    assert_true(system_library("android", "libc.so"));
    assert_true(system_library("android", "libGLESv2_adreno.so"));
    assert_true(system_library("android", "boot-framework.oat"));
    assert_true(system_library("ios", "UIKitCore"));
    assert_true(system_library("ios", "libsystem_kernel.dylib"));
    assert_true(system_library("linux", "libc.so.6"));
    assert_true(system_library("linux", "ld-linux-x86-64.so.2"));
}

static void a_games_own_library_is_not(void **state)
{
    (void)state;
    assert_false(system_library("android", "libgame.so"));
    assert_false(system_library("android", "libc++_shared.so")); /* ships in the package */
    assert_false(system_library("android", "libunity.so"));
    assert_false(system_library("ios", "UnityFramework"));
    assert_false(system_library("linux", "demo_game"));
    assert_false(system_library("linux", ""));
}

static void each_platform_has_its_own_list(void **state)
{
    (void)state;
    assert_false(system_library("ios", "libc.so"));
    assert_false(system_library("android", "UIKitCore"));
    assert_false(system_library("unknown", "libc.so"));
    assert_true(system_library(NULL, "libc.so"));
    assert_true(system_library(NULL, "UIKitCore"));
    assert_false(system_library(NULL, "libgame.so"));
}

static void a_path_says_more_than_a_name(void **state)
{
    (void)state;
    assert_true(system_library("android", "/apex/com.android.runtime/lib64/bionic/libc.so"));
    assert_true(system_library("android", "/vendor/lib64/egl/anything.so"));
    assert_true(system_library("ios", "/System/Library/Frameworks/Metal.framework/Metal"));
    assert_false(system_library("android", "/data/app/org.example.game/lib/arm64/libutils.so"));
    assert_false(system_library("ios", "/private/var/containers/Bundle/Application/x/Game"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listed_name_is_the_systems),
        cmocka_unit_test(a_games_own_library_is_not),
        cmocka_unit_test(each_platform_has_its_own_list),
        cmocka_unit_test(a_path_says_more_than_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
