/* Of Apple's header what the SDK uses: the fields up to dyldPath, in their places. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
struct mach_header;
struct dyld_image_info {
    const struct mach_header *imageLoadAddress;
    const char *imageFilePath;
    uintptr_t imageFileModDate;
};
struct dyld_all_image_infos {
    uint32_t version, infoArrayCount;
    const struct dyld_image_info *infoArray;
    void (*notification)(int mode, uint32_t n, const struct dyld_image_info *info);
    bool processDetachedFromSharedRegion, libSystemInitialized;
    const struct mach_header *dyldImageLoadAddress;
    void *jitInfo;
    const char *dyldVersion, *errorMessage;
    uintptr_t terminationFlags;
    void *coreSymbolicationShmPage;
    uintptr_t systemOrderFlag, uuidArrayCount;
    const void *uuidArray;
    struct dyld_all_image_infos *dyldAllImageInfosAddress;
    uintptr_t initialImageCount, errorKind;
    const char *errorClientOfDylibPath, *errorTargetDylibPath, *errorSymbol;
    uintptr_t sharedCacheSlide;
    uint8_t sharedCacheUUID[16];
    uintptr_t sharedCacheBaseAddress;
    uint64_t infoArrayChangeTimestamp;
    const char *dyldPath;
};
