#include "symbols/system_library.h"

#include <stddef.h>
#include <string.h>

/* Names end at NULL; a final '*' stands for any rest. */
static const char *const android_names[] = {"libc.so",
                                            "libm.so",
                                            "libdl.so",
                                            "liblog.so",
                                            "libart*",
                                            "libandroid.so",
                                            "libandroid_runtime.so",
                                            "libandroidfw.so",
                                            "libandroid_servers.so",
                                            "libhwui.so",
                                            "libgui.so",
                                            "libui.so",
                                            "libutils.so",
                                            "libcutils.so",
                                            "libbinder*",
                                            "libbase.so",
                                            "libc++.so",
                                            "libnativehelper.so",
                                            "libnativeloader.so",
                                            "libnativebridge.so",
                                            "libnativewindow.so",
                                            "libinput.so",
                                            "libinputflinger.so",
                                            "libaudioclient.so",
                                            "libaudioflinger.so",
                                            "libaaudio.so",
                                            "libOpenSLES.so",
                                            "libOpenMAXAL.so",
                                            "libmedia.so",
                                            "libmediandk.so",
                                            "libmedia_jni.so",
                                            "libstagefright*",
                                            "libcamera2ndk.so",
                                            "libsensor.so",
                                            "libskia.so",
                                            "libicu*",
                                            "libsqlite.so",
                                            "libsigchain.so",
                                            "libunwindstack.so",
                                            "libbacktrace.so",
                                            "libprocinfo.so",
                                            "libmemtrack.so",
                                            "libEGL*",
                                            "libGLES*",
                                            "libvulkan.so",
                                            "vulkan.*",
                                            "gralloc.*",
                                            "libgsl.so",
                                            "libllvm-*",
                                            "libadreno_*",
                                            "libmali.so",
                                            "libIMGegl.so",
                                            "libsrv_um.so",
                                            "libusc.so",
                                            "libwebviewchromium*",
                                            "libjavacore.so",
                                            "libopenjdk*",
                                            "libandroidio.so",
                                            "libjavacrypto.so",
                                            "libcrypto.so",
                                            "libssl.so",
                                            "libhidl*",
                                            "android.hardware.*",
                                            "linker",
                                            "linker64",
                                            "app_process*",
                                            "boot*.oat",
                                            "boot*.art",
                                            "boot.oat",
                                            "boot-*",
                                            "core-oj*",
                                            "framework.jar",
                                            "framework.odex",
                                            "[vdso]",
                                            "[vectors]",
                                            "linux-vdso.so.1",
                                            NULL};

static const char *const ios_names[] = {"libsystem_*",
                                        "libSystem.*",
                                        "libobjc.*",
                                        "libdispatch.dylib",
                                        "libc++.1.dylib",
                                        "libc++abi.dylib",
                                        "libswift*",
                                        "libxpc.dylib",
                                        "libdyld.dylib",
                                        "dyld",
                                        "libz.1.dylib",
                                        "libsqlite3.dylib",
                                        "libcache.dylib",
                                        "libcorecrypto.dylib",
                                        "libcompiler_rt.dylib",
                                        "libunwind.dylib",
                                        "libGPUSupportMercury.dylib",
                                        "libicucore.A.dylib",
                                        "UIKit",
                                        "UIKitCore",
                                        "Foundation",
                                        "CoreFoundation",
                                        "CoreGraphics",
                                        "CoreText",
                                        "CoreImage",
                                        "CoreMedia",
                                        "CoreVideo",
                                        "CoreAudio",
                                        "CoreMotion",
                                        "CoreLocation",
                                        "CoreTelephony",
                                        "CoreAnalytics",
                                        "CoreServices",
                                        "CFNetwork",
                                        "QuartzCore",
                                        "Metal",
                                        "MetalKit",
                                        "MetalPerformanceShaders",
                                        "MPSCore",
                                        "AGXMetal*",
                                        "IOGPU",
                                        "IOKit",
                                        "IOSurface",
                                        "IOMobileFramebuffer",
                                        "GLEngine",
                                        "OpenGLES",
                                        "ImageIO",
                                        "AVFoundation",
                                        "AVFAudio",
                                        "AVFCore",
                                        "AudioToolbox",
                                        "AudioToolboxCore",
                                        "VideoToolbox",
                                        "MediaToolbox",
                                        "WebKit",
                                        "WebCore",
                                        "JavaScriptCore",
                                        "GameController",
                                        "GameKit",
                                        "GraphicsServices",
                                        "FrontBoardServices",
                                        "BackBoardServices",
                                        "BoardServices",
                                        "RunningBoardServices",
                                        "Security",
                                        "SystemConfiguration",
                                        "Network",
                                        "StoreKit",
                                        "SwiftUI",
                                        "Combine",
                                        NULL};

static const char *const linux_names[] = {"libc.so.*",
                                          "libc-*",
                                          "libm.so.*",
                                          "libm-*",
                                          "libdl.so.*",
                                          "libpthread.so.*",
                                          "libpthread-*",
                                          "librt.so.*",
                                          "ld-linux*",
                                          "ld-2*",
                                          "ld-musl-*",
                                          "libstdc++.so.*",
                                          "libc++.so.*",
                                          "libc++abi.so.*",
                                          "libgcc_s.so.*",
                                          "libEGL*",
                                          "libGL*",
                                          "libOpenGL.so.*",
                                          "libvulkan.so.*",
                                          "libdrm*",
                                          "libX11*",
                                          "libxcb*",
                                          "libwayland-*",
                                          "libgbm.so.*",
                                          "swrast_dri.so",
                                          "libgallium*",
                                          "libLLVM*",
                                          "libasound.so.*",
                                          "libpulse*",
                                          "libpipewire-*",
                                          "libz.so.*",
                                          "libssl.so.*",
                                          "libcrypto.so.*",
                                          "linux-vdso.so.1",
                                          "linux-gate.so.1",
                                          "[vdso]",
                                          NULL};

static const char *const folders[] = {
    "/system/",         "/system_ext/",        "/vendor/",          "/product/", "/odm/",
    "/apex/",           "/usr/lib/",           "/usr/lib64/",       "/lib/",     "/lib64/",
    "/System/Library/", "/Developer/Library/", "/private/preboot/", NULL};

/* '*' anywhere in the pattern, once. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    size_t n = strlen(name);

    if (!star)
        return strcmp(pattern, name) == 0;

    size_t head = (size_t)(star - pattern), tail = strlen(star + 1);

    return n >= head + tail && strncmp(pattern, name, head) == 0 &&
           strcmp(star + 1, name + n - tail) == 0;
}

static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (matches(*names, name))
            return true;
    return false;
}

static bool in_system_folder(const char *path)
{
    for (const char *const *f = folders; *f; f++)
        if (strncmp(path, *f, strlen(*f)) == 0)
            return true;
    return false;
}

bool system_library(const char *platform, const char *module)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    static const struct {
        const char *platform;
        const char *const *names;
    } lists[] = {{"android", android_names}, {"ios", ios_names}, {"linux", linux_names}};

    if (module[0] == '/') /* where the path is known the name says nothing more */
        return in_system_folder(module);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if ((!platform || strcmp(platform, lists[i].platform) == 0) && listed(lists[i].names, name))
            return true;
    return false;
}
