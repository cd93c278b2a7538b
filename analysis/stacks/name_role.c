/* The built-in lists: what starts threads, what belongs to a language, what holds a thread. */
#include "stacks/name_parts.h"

#include <string.h>

/* '*' at the end: any rest. Lists end at NULL. */
static bool listed(const char *const *list, const char *text)
{
    for (; *list; list++) {
        size_t n = strlen(*list);

        if ((*list)[n - 1] == '*' ? strncmp(*list, text, n - 1) == 0 : strcmp(*list, text) == 0)
            return true;
    }
    return false;
}

static const char *const bases[] = {
    /* C libraries and kernels */
    "_start", "start", "main", "__libc_start_main*", "__libc_start_call_main", "__libc_init",
    "start_thread", "__start_thread", "__pthread_start*", "_pthread_start", "_pthread_body",
    "thread_start", "clone", "__clone", "clone3", "__clone3", "__bionic_clone", "_pthread_wqthread",
    "start_wqthread", "_dispatch_worker_thread*", "__clone_internal",
    /* thread classes */
    "execute_native_thread_routine", "std::thread::*", "std::__thread_proxy",
    "std::__1::__thread_proxy", "std::__ndk1::__thread_proxy", "std::sys::thread*",
    "std::sys_common::backtrace::__rust_begin_short_backtrace",
    "std::sys::backtrace::__rust_begin_short_backtrace", "std::rt::lang_start*",
    "FRunnableThreadPThread::*", "FRunnableThreadAndroid::*", "FRunnableThreadApple::*",
    "SDL_RunThread", "RunThread", "GC_start_routine", "GC_inner_start_routine",
    /* engines' entries */
    "UnityMain", "UnityPlayerLoop", "UnitySendMessage", "android_main", "AndroidMain",
    "GuardedMain", "SDL_main", "UIApplicationMain", "NSApplicationMain", "_UIApplicationMain*",
    "com.unity3d.player.UnityPlayer.nativeRender",
    /* event loops and processes */
    "CFRunLoopRun*", "_CFRunLoopRun*", "__CFRunLoop*", "__CFRUNLOOP_IS_*", "GSEventRun*",
    "java.lang.Thread.run", "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.ThreadPoolExecutor$Worker.run", "java.util.concurrent.FutureTask.run",
    "java.util.concurrent.Executors$RunnableAdapter.call", "java.lang.reflect.Method.invoke",
    "android.os.Looper.loop", "android.os.Looper.loopOnce", "android.os.Handler.dispatchMessage",
    "android.os.Handler.handleCallback", "android.os.HandlerThread.run",
    "android.app.ActivityThread.main", "com.android.internal.os.ZygoteInit*",
    "com.android.internal.os.RuntimeInit*", "kotlinx.coroutines.scheduling.CoroutineScheduler*",
    "kotlinx.coroutines.DispatchedTask.run", "System.Threading.ThreadHelper*",
    "System.Threading.Thread.StartCallback", "System.Threading.ExecutionContext*",
    "System.Threading.ThreadPoolWorkQueue*", "UnityEngine.SetupCoroutine.InvokeMoveNext", NULL};

static const char *const native_runtimes[] = {"std::*",
                                              "__gnu_cxx::*",
                                              "__cxxabiv1::*",
                                              "__cxa_*",
                                              "_Unwind_*",
                                              "operator new*",
                                              "operator delete*",
                                              "boost::function*",
                                              "boost::detail::function::*",
                                              "__rust_*",
                                              "rust_begin_unwind",
                                              "rust_panic*",
                                              "core::ops::*",
                                              "core::iter::*",
                                              "core::ptr::*",
                                              "core::panicking::*",
                                              "core::fmt::*",
                                              "core::slice::*",
                                              "core::option::*",
                                              "core::result::*",
                                              "core::str::*",
                                              "core::num::*",
                                              "core::cell::*",
                                              "core::mem::*",
                                              "core::array::*",
                                              "core::future::*",
                                              "core::hash::*",
                                              "core::cmp::*",
                                              "core::convert::*",
                                              "alloc::boxed::*",
                                              "alloc::vec::*",
                                              "alloc::string::*",
                                              "alloc::sync::*",
                                              "alloc::rc::*",
                                              "alloc::alloc::*",
                                              "alloc::raw_vec::*",
                                              "alloc::collections::*",
                                              "alloc::slice::*",
                                              "<alloc::boxed::Box as core::*",
                                              "<core::*",
                                              "swift_*",
                                              "_swift_*",
                                              "objc_*",
                                              "_objc_*",
                                              "malloc",
                                              "calloc",
                                              "realloc",
                                              "free",
                                              "memcpy",
                                              "memmove",
                                              "memset",
                                              "memcmp",
                                              "abort",
                                              "raise",
                                              "il2cpp::vm::*",
                                              "il2cpp::gc::*",
                                              "il2cpp::icalls::*",
                                              "il2cpp::os::*",
                                              "il2cpp_*",
                                              "mono_*",
                                              "GC_*",
                                              "luaV_*",
                                              "luaD_*",
                                              "lua_*",
                                              "luaL_*",
                                              "lj_*",
                                              NULL};

static const char *const managed_runtimes[] = {"java.*",
                                               "javax.*",
                                               "jdk.*",
                                               "sun.*",
                                               "libcore.*",
                                               "dalvik.*",
                                               "android.*",
                                               "androidx.*",
                                               "com.android.*",
                                               "com.google.android.gms.*",
                                               "kotlin.*",
                                               "kotlinx.*",
                                               "scala.*",
                                               "org.json.*",
                                               "org.apache.harmony.*",
                                               "com.unity3d.player.*",
                                               "System.*",
                                               "Microsoft.*",
                                               "Mono.*",
                                               "UnityEngine.*",
                                               "Unity.*",
                                               "[C]:string.*",
                                               "[C]:table.*",
                                               "[C]:math.*",
                                               "[C]:os.*",
                                               "[C]:io.*",
                                               "[C]:pcall",
                                               "[C]:xpcall",
                                               "[C]:error",
                                               "[C]:?",
                                               NULL};

static const char *const pauses[] = {"art::ThreadList::WaitFor*",
                                     "art::Thread::FullSuspendCheck",
                                     "art::Thread::CheckSuspend",
                                     "art::Thread::TransitionFromSuspendedToRunnable",
                                     "artTestSuspendFromCode",
                                     "art_quick_test_suspend",
                                     "art::ThreadSuspension*",
                                     "GC_suspend_handler*",
                                     "GC_suspend_self*",
                                     "suspend_signal_handler",
                                     "mono_thread_info_self_suspend",
                                     "unified_suspend*",
                                     "__refrigerator",
                                     "do_freezer_trap",
                                     "ptrace_stop",
                                     "do_signal_stop",
                                     "thread_suspend_trap",
                                     "Thread::RareDisablePreemptiveGC",
                                     "ThreadSuspend::*",
                                     NULL};

enum name_role name_role_of(const char *text, bool managed)
{
    if (listed(pauses, text))
        return NAME_PAUSE;
    if (listed(bases, text))
        return NAME_BASE;
    return listed(managed ? managed_runtimes : native_runtimes, text) ? NAME_RUNTIME : NAME_PLAIN;
}
