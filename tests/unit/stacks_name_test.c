#include "stacks/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *from, *to;
    enum name_role role;
};

static void check(const struct example *e, bool managed, unsigned *wrong)
{
    struct arena *mem = arena_new(1 << 20);
    struct name once, twice;

    assert_true(name_of(e->from, managed, mem, &once));
    assert_true(name_of(once.text, managed, mem, &twice));
    if (strcmp(once.text, e->to) != 0 || once.role != e->role ||
        strcmp(once.text, twice.text) != 0) {
        print_error("%s\n  is      %s, %s\n  wanted  %s, %s\n  again   %s\n", e->from, once.text,
                    name_role_name[once.role], e->to, name_role_name[e->role], twice.text);
        ++*wrong;
    }
    arena_free(mem);
}

/* All of a list, then one failure for those that are wrong. */
#define CHECK_ALL(list, managed)                                                                   \
    do {                                                                                           \
        unsigned wrong = 0;                                                                        \
                                                                                                   \
        for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)                                 \
            check(&(list)[i], managed, &wrong);                                                    \
        assert_int_equal(wrong, 0);                                                                \
    } while (0)

static void cpp_names_lose_what_differs_between_builds(void **state)
{
    static const struct example list[] = {
        {"game::frame(int)", "game::frame", NAME_PLAIN},
        {"_ZN4game5frameEi", "game::frame", NAME_PLAIN},
        {"game::Level::load(std::string const&) const", "game::Level::load", NAME_PLAIN},
        {"void game::sort<int, std::less<int> >(int*, int*)", "game::sort", NAME_PLAIN},
        {"game::Pool<game::Mesh, (game::Kind)2>::take()", "game::Pool::take", NAME_PLAIN},
        {"game::Grid<(3>2)>::at(int)", "game::Grid::at", NAME_PLAIN},
        {"std::enable_if<((4)>(2)), int>::type game::pick<int>(int)", "game::pick", NAME_PLAIN},
        {"decltype (auto) game::pick(int)", "game::pick", NAME_PLAIN},
        {"unsigned long game::count(char const*)", "game::count", NAME_PLAIN},
        {"int (*game::chooser(int))(char)", "game::chooser", NAME_PLAIN},
        {"game::name[abi:cxx11]()", "game::name", NAME_PLAIN},
        {"(anonymous namespace)::upload(Texture&)", "upload", NAME_PLAIN},
        {"game::(anonymous namespace)::upload(Texture&)", "game::upload", NAME_PLAIN},
        {"game::{anonymous}::upload(Texture&)", "game::upload", NAME_PLAIN},
        {"game::`anonymous namespace'::upload", "game::upload", NAME_PLAIN},
        {"game::Vec::operator()(int) const", "game::Vec::operator()", NAME_PLAIN},
        {"game::Vec::operator[](unsigned long)", "game::Vec::operator[]", NAME_PLAIN},
        {"game::operator<< <char>(game::Out&, char)", "game::operator<<", NAME_PLAIN},
        {"bool game::operator< <int>(int, int)", "game::operator<", NAME_PLAIN},
        {"game::Handle::operator bool() const", "game::Handle::operator bool", NAME_PLAIN},
        {"game::Handle::operator->() const", "game::Handle::operator->", NAME_PLAIN},
        {"game::Map<&(game::operator<)>::find(int)", "game::Map::find", NAME_PLAIN},
        {"game::frame(int)::Local::run()", "game::frame::Local::run", NAME_PLAIN},
        {"game::Node::~Node()", "game::Node::~Node", NAME_PLAIN},
    };

    (void)state;
    CHECK_ALL(list, false);
}

static void cpp_closures_go_by_the_function_around_them(void **state)
{
    static const struct example list[] = {
        {"game::load()::{lambda(int)#1}::operator()(int) const", "game::load", NAME_CLOSURE},
        {"game::load()::{lambda()#2}::operator()() const::{lambda(int)#1}::operator()(int) const",
         "game::load", NAME_CLOSURE},
        {"game::load()::$_0::operator()() const", "game::load", NAME_CLOSURE},
        {"game::load()::'lambda'(int)::operator()(int) const", "game::load", NAME_CLOSURE},
        {"auto game::load()::'lambda0'(auto)::operator()<int>(auto) const", "game::load",
         NAME_CLOSURE},
        {"game::load::<lambda_1>::operator()", "game::load", NAME_CLOSURE},
        {"game::load(int)::<lambda(int)>::operator()(int) const", "game::load", NAME_CLOSURE},
        {"game::load()::{lambda(int)#1}::_FUN(int)", "game::load", NAME_GLUE},
        {"game::load()::$_3::__invoke(int)", "game::load", NAME_GLUE},
        {"game::load()::{lambda(int)#1}::operator void (*)(int)() const", "game::load", NAME_GLUE},
        {"{lambda()#1}::operator()() const", "(closure)", NAME_CLOSURE},
        {"__load_textures_block_invoke_2", "load_textures", NAME_CLOSURE},
        {"invocation function for block in game::load()", "game::load", NAME_CLOSURE},
        {"game::load(int)::(lambda at game.cpp:12:3)::operator()() const", "game::load",
         NAME_CLOSURE},
    };

    (void)state;
    CHECK_ALL(list, false);
}

static void clone_suffixes_and_thunks_go(void **state)
{
    static const struct example list[] = {
        {"game::frame(int) [clone .cold]", "game::frame", NAME_PLAIN},
        {"game::frame(int) [clone .isra.0] [clone .cold]", "game::frame", NAME_PLAIN},
        {"game::frame(int) (.llvm.1234567890)", "game::frame", NAME_PLAIN},
        {"_ZN4game5frameEi.llvm.123456789", "game::frame", NAME_PLAIN},
        {"_ZN4game5frameEi.part.0.cold", "game::frame", NAME_PLAIN},
        {"draw.cold", "draw", NAME_PLAIN},
        {"draw.part.1", "draw", NAME_PLAIN},
        {"draw.constprop.0.isra.3", "draw", NAME_PLAIN},
        {"draw.__uniq.23487234872348", "draw", NAME_PLAIN},
        {"draw.lto_priv.7", "draw", NAME_PLAIN},
        {"draw.123", "draw", NAME_PLAIN},
        {"draw@plt", "draw", NAME_PLAIN},
        {"draw@@GAME_1.0", "draw", NAME_PLAIN},
        {"draw.unknownword", "draw.unknownword", NAME_PLAIN},
        {"non-virtual thunk to game::Widget::draw()", "game::Widget::draw", NAME_GLUE},
        {"virtual thunk to game::Widget::draw()", "game::Widget::draw", NAME_GLUE},
        {"_ZThn16_N4game6Widget4drawEv", "game::Widget::draw", NAME_GLUE},
    };

    (void)state;
    CHECK_ALL(list, false);
}

static void rust_names_lose_hash_and_type_arguments(void **state)
{
    static const struct example list[] = {
        {"game::level::load::h0123456789abcdef", "game::level::load", NAME_PLAIN},
        {"_ZN4game5level4load17h0123456789abcdefE", "game::level::load", NAME_PLAIN},
        {"game::level::load::{{closure}}", "game::level::load", NAME_CLOSURE},
        {"game::level::load::{{closure}}::{{closure}}::h0123456789abcdef", "game::level::load",
         NAME_CLOSURE},
        {"game::level::load::{closure#0}::{closure#1}", "game::level::load", NAME_CLOSURE},
        {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn", NAME_CLOSURE},
        {"<game::Level<T> as game::Load<U>>::load", "<game::Level as game::Load>::load",
         NAME_PLAIN},
        {"<game::Level<T>>::load", "game::Level::load", NAME_PLAIN},
        {"game::pool::<impl game::Take for game::Pool<T>>::take",
         "game::pool::<impl game::Take for game::Pool>::take", NAME_PLAIN},
        {"game::collect::<alloc::vec::Vec<u8>>", "game::collect", NAME_PLAIN},
        {"core::ops::function::FnOnce::call_once", "core::ops::function::FnOnce::call_once",
         NAME_RUNTIME},
        {"<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
         "<alloc::boxed::Box as core::ops::function::FnOnce>::call_once", NAME_RUNTIME},
    };

    (void)state;
    CHECK_ALL(list, false);
}

static void apple_names_are_read(void **state)
{
    static const struct example list[] = {
        {"-[Level load:with:]", "-[Level load:with:]", NAME_PLAIN},
        {"+[Level(Cache) shared]", "+[Level shared]", NAME_PLAIN},
        {"__24-[Level load:with:]_block_invoke", "-[Level load:with:]", NAME_CLOSURE},
        {"__24-[Level load:with:]_block_invoke.42", "-[Level load:with:]", NAME_CLOSURE},
        {"closure #1 (Swift.Int) -> () in Game.Level.load() -> ()", "Game.Level.load",
         NAME_CLOSURE},
        {"closure #2 () -> () in closure #1 () -> () in Game.Level.load() -> ()", "Game.Level.load",
         NAME_CLOSURE},
        {"partial apply for closure #1 () -> () in Game.Level.load() -> ()", "Game.Level.load",
         NAME_GLUE},
        {"@objc Game.View.draw() -> ()", "Game.View.draw", NAME_GLUE},
        {"static Game.Level.load(name: Swift.String) -> Game.Level", "Game.Level.load", NAME_PLAIN},
        {"Game.Level.size.getter : Swift.Int", "Game.Level.size.getter", NAME_PLAIN},
    };

    (void)state;
    CHECK_ALL(list, false);
}

static void java_and_kotlin_names_are_read(void **state)
{
    static const struct example list[] = {
        {"com.studio.game.Level.load", "com.studio.game.Level.load", NAME_PLAIN},
        {"com.studio.game.Level.load(Level.java:42)", "com.studio.game.Level.load", NAME_PLAIN},
        {"at com.studio.game.Level.load(Unknown Source:7)", "com.studio.game.Level.load",
         NAME_PLAIN},
        {"void com.studio.game.Level.load(java.lang.String)", "com.studio.game.Level.load",
         NAME_PLAIN},
        {"com.studio.game.Level.load+124", "com.studio.game.Level.load", NAME_PLAIN},
        {"com.studio.game.Level$Cache.get", "com.studio.game.Level$Cache.get", NAME_PLAIN},
        {"com.studio.game.Level.<init>", "com.studio.game.Level.<init>", NAME_PLAIN},
        {"com.studio.game.Level.lambda$load$0", "com.studio.game.Level.load", NAME_CLOSURE},
        {"com.studio.game.Level.lambda$load$1$2", "com.studio.game.Level.load$1", NAME_CLOSURE},
        {"com.studio.game.Level.lambda$new$3", "com.studio.game.Level.<init>", NAME_CLOSURE},
        {"com.studio.game.Level.lambda$static$0", "com.studio.game.Level.<clinit>", NAME_CLOSURE},
        {"com.studio.game.Level$$ExternalSyntheticLambda0.run", "com.studio.game.Level.run",
         NAME_GLUE},
        {"com.studio.game.Level$$Lambda$14/0x000000c.run", "com.studio.game.Level.run", NAME_GLUE},
        {"com.studio.game.-$$Lambda$Level$kXa8a.run", "com.studio.game.run", NAME_GLUE},
        {"com.studio.game.Level.$r8$lambda$kJ3hs8", "com.studio.game.Level.lambda", NAME_GLUE},
        {"com.studio.game.Level.-$$Nest$mload", "com.studio.game.Level.mload", NAME_GLUE},
        {"com.studio.game.Level.access$000", "com.studio.game.Level.access", NAME_GLUE},
        {"com.studio.game.Level.access$load", "com.studio.game.Level.load", NAME_GLUE},
        {"com.studio.game.Level$1.run", "com.studio.game.Level.run", NAME_CLOSURE},
        {"com.studio.game.Level$2$1.onClick", "com.studio.game.Level.onClick", NAME_CLOSURE},
        {"com.studio.game.Level$Cache$3.run", "com.studio.game.Level$Cache.run", NAME_CLOSURE},
        {"com.studio.game.Level$1Local.run", "com.studio.game.Level$Local.run", NAME_PLAIN},
        {"com.studio.game.Level$load$1.invokeSuspend", "com.studio.game.Level.load", NAME_CLOSURE},
        {"com.studio.game.Level$load$2$1.invoke", "com.studio.game.Level.load", NAME_CLOSURE},
        {"com.studio.game.Level$load$1.onDone", "com.studio.game.Level.load.onDone", NAME_CLOSURE},
        {"com.studio.game.LevelKt.load$lambda$3", "com.studio.game.LevelKt.load", NAME_CLOSURE},
        {"com.studio.game.LevelKt.load$lambda-3", "com.studio.game.LevelKt.load", NAME_CLOSURE},
        {"com.studio.game.Level.load$default", "com.studio.game.Level.load", NAME_GLUE},
        {"com.studio.game.Level.load$suspendImpl", "com.studio.game.Level.load", NAME_PLAIN},
        {"com.studio.game.Level.load-d5k3Jf8", "com.studio.game.Level.load", NAME_PLAIN},
        {"com.studio.game.Level.load$app_release", "com.studio.game.Level.load", NAME_PLAIN},
        {"com.studio.game.Level$Companion.get", "com.studio.game.Level$Companion.get", NAME_PLAIN},
        {"java.base@11/java.util.ArrayList.sort", "java.util.ArrayList.sort", NAME_RUNTIME},
        {"com/studio/game/Level.load", "com.studio.game.Level.load", NAME_PLAIN},
        {"java.lang.Thread.run", "java.lang.Thread.run", NAME_BASE},
        {"android.os.MessageQueue.nativePollOnce", "android.os.MessageQueue.nativePollOnce",
         NAME_RUNTIME},
    };

    (void)state;
    CHECK_ALL(list, true);
}

static void csharp_names_are_read(void **state)
{
    static const struct example list[] = {
        {"Game.Level.Load", "Game.Level.Load", NAME_PLAIN},
        {"Game.Level:Load (int,string)", "Game.Level.Load", NAME_PLAIN},
        {"at Game.Level.Load () [0x00012] in <6a5b>:0", "Game.Level.Load", NAME_PLAIN},
        {"Game.Pool`1[T].Take", "Game.Pool.Take", NAME_PLAIN},
        {"Game.Pool`1[[Game.Mesh, Assembly-CSharp]].Take(Int32)", "Game.Pool.Take", NAME_PLAIN},
        {"Game.Level.Find<T>", "Game.Level.Find", NAME_PLAIN},
        {"Game.Level+<Load>d__3.MoveNext", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level/<Load>d__3:MoveNext ()", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level.<Load>b__5_0", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level+<>c.<Load>b__5_0", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level+<>c__DisplayClass5_0.<Load>b__0", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level+<>c__DisplayClass5_0+<<Load>b__0>d.MoveNext", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level.<Load>g__Read|3_0", "Game.Level.Load.Read", NAME_CLOSURE},
        {"Game.Level+<Load>c__AnonStorey1.<>m__0", "Game.Level.Load", NAME_CLOSURE},
        {"Game.Level+<Load>c__Iterator0.MoveNext", "Game.Level.Load", NAME_CLOSURE},
        {"(wrapper delegate-invoke) Game.Done:invoke_void ()", "Game.Done.invoke_void", NAME_GLUE},
        {"Game.Level..ctor", "Game.Level..ctor", NAME_PLAIN},
        {"System.Collections.Generic.List`1[T].Sort", "System.Collections.Generic.List.Sort",
         NAME_RUNTIME},
        {"UnityEngine.Object:Instantiate (UnityEngine.Object)", "UnityEngine.Object.Instantiate",
         NAME_RUNTIME},
    };
    static const struct example il2cpp[] = {
        {"Level_Load_m0123456789ABCDEF0123456789ABCDEF01234567", "Level_Load", NAME_PLAIN},
        {"Pool_1_Take_m0123456789ABCDEF0123456789ABCDEF01234567_gshared", "Pool_1_Take",
         NAME_PLAIN},
        {"U3CLoadU3Ed__3_MoveNext_m0123456789ABCDEF0123456789ABCDEF01234567", "Load", NAME_CLOSURE},
        {"U3CU3Ec__DisplayClass5_0_U3CLoadU3Eb__0_m0123456789ABCDEF0123456789ABCDEF01234567",
         "Load", NAME_CLOSURE},
        {"Level_Get_m0123456789ABCDEF0123456789ABCDEF01234567_AdjustorThunk", "Level_Get",
         NAME_GLUE},
    };

    (void)state;
    CHECK_ALL(list, true);
    CHECK_ALL(il2cpp, false);
}

static void lua_names_are_read(void **state)
{
    static const struct example list[] = {
        {"scripts/ui/main.lua:12: in function 'refresh'", "main.lua:refresh", NAME_PLAIN},
        {"/data/user/0/com.studio.game/files/main.lua:812: in method 'refresh'", "main.lua:refresh",
         NAME_PLAIN},
        {"@main.lua:12: in upvalue 'refresh'", "main.lua:refresh", NAME_PLAIN},
        {"main.lua:refresh:12", "main.lua:refresh", NAME_PLAIN},
        {"main.lua:12: in function 'ui.refresh'", "main.lua:ui.refresh", NAME_PLAIN},
        {"main.lua:12: in function <scripts/main.lua:3>", "main.lua:(function)", NAME_PLAIN},
        {"in function <scripts/main.lua:3>", "main.lua:(function)", NAME_PLAIN},
        {"main.lua:12: in main chunk", "main.lua:(main)", NAME_PLAIN},
        {"[string \"ui/main\"]:12: in function 'refresh'", "main.lua:refresh", NAME_PLAIN},
        {"[C]: in function 'engine.load'", "[C]:engine.load", NAME_PLAIN},
        {"[C]: in function 'table.sort'", "[C]:table.sort", NAME_RUNTIME},
        {"[C]: in ?", "[C]:?", NAME_RUNTIME},
        {"(...tail calls...)", "(closure)", NAME_GLUE},
    };

    (void)state;
    CHECK_ALL(list, true);
}

static void bases_runtimes_and_pauses_are_known(void **state)
{
    static const struct example list[] = {
        {"__start_thread", "__start_thread", NAME_BASE},
        {"__pthread_start(void*)", "__pthread_start", NAME_BASE},
        {"__libc_start_main_impl", "__libc_start_main_impl", NAME_BASE},
        {"main", "main", NAME_BASE},
        {"game::main", "game::main", NAME_PLAIN},
        {"UnityMain", "UnityMain", NAME_BASE},
        {"std::vector<int>::push_back(int&&)", "std::vector::push_back", NAME_RUNTIME},
        {"std::_Function_handler<void (), game::load()::{lambda()#1}>::_M_invoke(std::_Any_data "
         "const&)",
         "std::_Function_handler::_M_invoke", NAME_RUNTIME},
        {"operator new(unsigned long)", "operator new", NAME_RUNTIME},
        {"art::Thread::FullSuspendCheck(bool)", "art::Thread::FullSuspendCheck", NAME_PAUSE},
        {"GC_suspend_handler_inner", "GC_suspend_handler_inner", NAME_PAUSE},
        {"", "", NAME_EMPTY},
        {"Unknown", "Unknown", NAME_EMPTY},
        {"0x7f001234", "0x7f001234", NAME_EMPTY},
        {"??", "??", NAME_EMPTY},
    };

    (void)state;
    CHECK_ALL(list, false);
}

/* Pieces of names in any order: whatever comes out is a fixed point, and short. */
static void the_name_of_a_name_is_itself(void **state)
{
    static const char *const pieces[] = {"game",
                                         "::",
                                         "load",
                                         "(",
                                         ")",
                                         "<",
                                         ">",
                                         "{",
                                         "}",
                                         "lambda",
                                         "#1",
                                         "operator",
                                         "()",
                                         "$_0",
                                         "$1",
                                         "$lambda$",
                                         "lambda$",
                                         ".",
                                         "U3C",
                                         "U3E",
                                         "_m0123456789ABCDEF0123456789ABCDEF01234567",
                                         "[",
                                         "]",
                                         " ",
                                         "'",
                                         "`",
                                         ".cold",
                                         ".lua:",
                                         " in ",
                                         "closure #1",
                                         "{{closure}}",
                                         "<>c",
                                         "b__0",
                                         "d__3",
                                         "MoveNext",
                                         "@",
                                         "+",
                                         "/",
                                         "-",
                                         "*",
                                         "&",
                                         "\xc3\xa9",
                                         "\xff",
                                         "_Z1fv",
                                         "-[",
                                         "_block_invoke",
                                         "__",
                                         "std",
                                         "impl ",
                                         " as ",
                                         "12",
                                         ":",
                                         "~",
                                         "\n",
                                         "$$Lambda",
                                         "access$",
                                         "in function ",
                                         "thunk to "};
    struct arena *mem = arena_new(64 << 20);
    uint64_t x = 88172645463325252u;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char text[512] = "";
        size_t n = 0;
        struct name once, twice;
        bool managed = i % 2;

        for (unsigned k = 0; k < 2 + i % 9; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                                  pieces[x % (sizeof pieces / sizeof *pieces)]);
        }
        assert_true(name_of(text, managed, mem, &once));
        assert_true(name_of(once.text, managed, mem, &twice));
        if (strcmp(once.text, twice.text) != 0)
            fail_msg("%s\nonce    %s\ntwice   %s", text, once.text, twice.text);
        arena_reset(mem);
    }
    arena_free(mem);
}

static void a_name_is_cut_at_the_limit_not_within_a_letter(void **state)
{
    struct arena *mem = arena_new(1 << 20);
    char *text = malloc(20001);
    struct name name;

    (void)state;
    for (size_t i = 0; i < 20000; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[20000] = '\0';
    text[0] = text[1] = 'e';
    assert_true(name_of(text, false, mem, &name));
    assert_int_equal(strlen(name.text), NAME_TEXT_MAX);
    memset(text, '<', 20000);
    assert_true(name_of(text, false, mem, &name));
    assert_true(name_of(NULL, false, mem, &name));
    assert_string_equal(name.text, "");
    arena_free(mem);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpp_names_lose_what_differs_between_builds),
        cmocka_unit_test(cpp_closures_go_by_the_function_around_them),
        cmocka_unit_test(clone_suffixes_and_thunks_go),
        cmocka_unit_test(rust_names_lose_hash_and_type_arguments),
        cmocka_unit_test(apple_names_are_read),
        cmocka_unit_test(java_and_kotlin_names_are_read),
        cmocka_unit_test(csharp_names_are_read),
        cmocka_unit_test(lua_names_are_read),
        cmocka_unit_test(bases_runtimes_and_pauses_are_known),
        cmocka_unit_test(the_name_of_a_name_is_itself),
        cmocka_unit_test(a_name_is_cut_at_the_limit_not_within_a_letter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
