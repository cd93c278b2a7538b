#include "demo_devices.h"

#define ANDROID(tier, share, maker, model, soc, gpu, os, ram, w, h, hz, ...)                       \
    {                                                                                              \
        tier, share, false, maker, model, soc, gpu, os, {__VA_ARGS__}, ram, w, h, hz               \
    }
#define IPHONE(tier, share, model, soc, gpu, os, ram, w, h, hz, ...)                               \
    {                                                                                              \
        tier, share, true, "Apple", model, soc, gpu, os, {__VA_ARGS__}, ram, w, h, hz              \
    }

/* clang-format off */
const struct demo_device demo_devices[] = {
    ANDROID(DEMO_LOW, 6, "samsung", "SM-A125F", "MT6765", "PowerVR GE8320", "11", 3800, 720, 1600, 60, {4, 1800000}, {4, 2300000}),
    ANDROID(DEMO_LOW, 5, "samsung", "SM-A037F", "MT6765", "PowerVR GE8320", "12", 2900, 720, 1600, 60, {4, 1800000}, {4, 2300000}),
    ANDROID(DEMO_LOW, 5, "samsung", "SM-A135F", "exynos850", "Mali-G52", "13", 3800, 1080, 2408, 60, {8, 2002000}),
    ANDROID(DEMO_LOW, 7, "Xiaomi", "M2006C3LG", "MT6762G", "PowerVR GE8320", "10", 1900, 720, 1600, 60, {4, 1500000}, {4, 2000000}),
    ANDROID(DEMO_LOW, 6, "Xiaomi", "220233L2G", "MT6769Z", "Mali-G52 MC2", "12", 3900, 720, 1600, 60, {6, 1800000}, {2, 2000000}),
    ANDROID(DEMO_LOW, 4, "realme", "RMX3231", "SC9863A", "PowerVR GE8322", "11", 1900, 720, 1600, 60, {4, 1200000}, {4, 1600000}),
    ANDROID(DEMO_LOW, 4, "OPPO", "CPH2185", "MT6765", "PowerVR GE8320", "11", 2900, 720, 1600, 60, {4, 1800000}, {4, 2300000}),
    ANDROID(DEMO_LOW, 4, "vivo", "V2026", "MT6765", "PowerVR GE8320", "11", 2900, 720, 1600, 60, {4, 1800000}, {4, 2300000}),
    ANDROID(DEMO_LOW, 3, "motorola", "moto e20", "T606", "Mali-G57 MC1", "11", 1900, 720, 1600, 60, {6, 1612000}, {2, 1612000}),
    ANDROID(DEMO_LOW, 3, "HUAWEI", "AMN-LX9", "MT6761", "PowerVR GE8320", "9", 1900, 720, 1520, 60, {4, 2000000}),
    ANDROID(DEMO_LOW, 3, "TECNO", "TECNO KG5k", "T606", "Mali-G57 MC1", "12", 3900, 720, 1612, 90, {6, 1612000}, {2, 1612000}),
    ANDROID(DEMO_LOW, 3, "INFINIX", "Infinix X6515", "SC9863A", "PowerVR GE8322", "12", 1900, 720, 1612, 60, {4, 1200000}, {4, 1600000}),
    ANDROID(DEMO_MID, 7, "samsung", "SM-A525F", "SM7125", "Adreno (TM) 618", "13", 5700, 1080, 2400, 90, {6, 1804800}, {2, 2323200}),
    ANDROID(DEMO_MID, 6, "samsung", "SM-A536B", "s5e8825", "Mali-G68", "13", 5700, 1080, 2400, 120, {6, 2002000}, {2, 2400000}),
    ANDROID(DEMO_MID, 5, "samsung", "SM-G991B", "exynos2100", "Mali-G78", "13", 7700, 1080, 2400, 120, {4, 2210000}, {3, 2808000}, {1, 2912000}),
    ANDROID(DEMO_MID, 6, "Xiaomi", "M2101K6G", "SM7150", "Adreno (TM) 618", "12", 5700, 1080, 2400, 120, {6, 1804800}, {2, 2304000}),
    ANDROID(DEMO_MID, 6, "Xiaomi", "21091116AG", "MT6833", "Mali-G57 MC2", "12", 5700, 1080, 2400, 90, {6, 2000000}, {2, 2400000}),
    ANDROID(DEMO_MID, 5, "Xiaomi", "22101316G", "MT6877V", "Mali-G68 MC4", "13", 7700, 1080, 2400, 120, {6, 2000000}, {2, 2600000}),
    ANDROID(DEMO_MID, 4, "POCO", "M2102J20SG", "SM8150", "Adreno (TM) 640", "12", 7700, 1080, 2400, 120, {4, 1785600}, {3, 2419200}, {1, 2956800}),
    ANDROID(DEMO_MID, 4, "OnePlus", "AC2003", "SM7250", "Adreno (TM) 620", "12", 7700, 1080, 2400, 90, {6, 1804800}, {1, 2208000}, {1, 2400000}),
    ANDROID(DEMO_MID, 4, "realme", "RMX3363", "SM7325", "Adreno (TM) 642L", "13", 7700, 1080, 2400, 120, {4, 1804800}, {3, 2400000}, {1, 2400000}),
    ANDROID(DEMO_MID, 3, "OPPO", "CPH2363", "MT6877", "Mali-G68 MC4", "13", 7700, 1080, 2400, 90, {6, 2000000}, {2, 2500000}),
    ANDROID(DEMO_MID, 3, "vivo", "V2130A", "SM7325", "Adreno (TM) 642L", "12", 7700, 1080, 2376, 120, {4, 1804800}, {4, 2400000}),
    ANDROID(DEMO_MID, 3, "Google", "Pixel 6a", "gs101", "Mali-G78", "14", 5700, 1080, 2400, 60, {4, 1803000}, {2, 2253000}, {2, 2802000}),
    ANDROID(DEMO_MID, 2, "HONOR", "NTN-LX1", "MT6877", "Mali-G68 MC4", "11", 5700, 1080, 2388, 120, {6, 2000000}, {2, 2400000}),
    ANDROID(DEMO_HIGH, 5, "samsung", "SM-S918B", "SM8550", "Adreno (TM) 740", "14", 11500, 1440, 3088, 120, {3, 2016000}, {4, 2803200}, {1, 3360000}),
    ANDROID(DEMO_HIGH, 4, "samsung", "SM-S908B", "s5e9925", "Samsung Xclipse 920", "14", 11500, 1440, 3088, 120, {4, 1824000}, {3, 2515000}, {1, 2803000}),
    ANDROID(DEMO_HIGH, 4, "Xiaomi", "2210132G", "SM8550", "Adreno (TM) 740", "13", 11500, 1440, 3200, 120, {3, 2016000}, {4, 2803200}, {1, 3187200}),
    ANDROID(DEMO_HIGH, 3, "OnePlus", "CPH2449", "SM8550", "Adreno (TM) 740", "14", 15400, 1440, 3216, 120, {3, 2016000}, {4, 2803200}, {1, 3187200}),
    ANDROID(DEMO_HIGH, 3, "asus", "ASUS_AI2201", "SM8475", "Adreno (TM) 730", "13", 15400, 1080, 2448, 165, {4, 2016000}, {3, 2745600}, {1, 3187200}),
    ANDROID(DEMO_HIGH, 3, "vivo", "V2227A", "MT6985", "Mali-G715", "13", 11500, 1260, 2800, 120, {4, 2000000}, {3, 2850000}, {1, 3050000}),
    ANDROID(DEMO_HIGH, 2, "Google", "Pixel 8 Pro", "zuma", "Mali-G715", "14", 11400, 1344, 2992, 120, {4, 1704000}, {4, 2367000}, {1, 2914000}),
    ANDROID(DEMO_HIGH, 2, "HUAWEI", "LIO-N29", "kirin990", "Mali-G76", "10", 7600, 1176, 2400, 60, {4, 1863000}, {2, 2363000}, {2, 2861000}),
    IPHONE(DEMO_LOW, 2, "iPhone10,4", "A11", "Apple A11 GPU", "16.7", 2000, 750, 1334, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_LOW, 2, "iPhone9,3", "A10", "Apple A10 GPU", "15.8", 2000, 750, 1334, 60, {2, 0}, {2, 0}),
    IPHONE(DEMO_MID, 4, "iPhone11,8", "A12", "Apple A12 GPU", "17.5", 3000, 828, 1792, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_MID, 5, "iPhone12,1", "A13", "Apple A13 GPU", "17.5", 4000, 828, 1792, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_MID, 2, "iPhone12,8", "A13", "Apple A13 GPU", "17.2", 3000, 750, 1334, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_HIGH, 5, "iPhone13,2", "A14", "Apple A14 GPU", "17.5", 4000, 1170, 2532, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_HIGH, 5, "iPhone14,5", "A15", "Apple A15 GPU", "17.5", 4000, 1170, 2532, 60, {4, 0}, {2, 0}),
    IPHONE(DEMO_HIGH, 4, "iPhone15,3", "A16", "Apple A16 GPU", "17.5", 6000, 1290, 2796, 120, {4, 0}, {2, 0}),
    IPHONE(DEMO_HIGH, 2, "iPhone16,1", "A17 Pro", "Apple A17 GPU", "17.5", 8000, 1179, 2556, 120, {4, 0}, {2, 0}),
};
const size_t n_demo_devices = sizeof demo_devices / sizeof *demo_devices;

const struct demo_module demo_modules[2][DEMO_MODULES] = {
    {{"libgame.so", true}, {"libengine.so", true}, {"libc.so", false}, {"libGLESv2_adreno.so", false}, {"libart.so", false}},
    {{"Game", true}, {"Engine", true}, {"libsystem_kernel.dylib", false}, {"AGXMetal", false}, {"libobjc.A.dylib", false}},
};

#define G(f) {MODULE_GAME, f}
#define E(f) {MODULE_ENGINE, f}
#define C(f) {MODULE_LIBC, f}
#define U(f) {MODULE_GPU, f}
#define R(f) {MODULE_RUNTIME, f}
#define J(f) {0, f}
#define LOOP E("Engine::Frame"), E("Engine::Loop"), G("main")

const struct demo_stack demo_stacks[] = {
    {20, NULL, {C("read"), E("FileSystem::ReadBlocking"), G("AssetBundle::LoadSync"), G("Level::LoadAssets"), LOOP}},
    {14, NULL, {E("Etc2::DecodeBlock"), E("Texture::Decompress"), G("TextureCache::Upload"), LOOP}},
    {12, NULL, {U("glLinkProgram"), E("Shader::Compile"), E("Material::Prepare"), G("Effects::Spawn"), LOOP}},
    {12, "battle", {C("pthread_mutex_lock"), E("Physics::WaitForStep"), G("Battle::Tick"), LOOP}},
    {10, "dungeon", {G("PathFinder::Search"), G("Monster::ChooseTarget"), G("MonsterSpawner::SpawnWave"), LOOP}},
    {9, NULL, {R("art::gc::Heap::CollectGarbage"), R("art::gc::Heap::WaitForGc"), E("ScriptHost::Allocate"), G("Inventory::Refresh"), LOOP}},
    {8, "city", {E("Mesh::BuildColliders"), G("Crowd::AddPlayer"), G("City::OnPlayerEnter"), LOOP}},
    {7, NULL, {C("fsync"), E("Prefs::Save"), G("Profile::SaveProgress"), LOOP}},
    {6, NULL, {E("Json::Parse"), G("Shop::ApplyCatalogue"), G("Shop::OnResponse"), LOOP}},
    {5, NULL, {J("com.example.game.ads.AdLoader.loadSync(AdLoader.java:118)"), J("com.example.game.GameActivity.onAdRequested(GameActivity.java:342)"), J("android.os.Handler.dispatchMessage(Handler.java:106)")}},
    {4, "battle", {E("Particles::Sort"), E("Particles::Update"), G("Skill::Meteor"), G("Battle::Tick"), LOOP}},
    {3, NULL, {E("Lua::Execute"), G("Quest::Evaluate"), G("Quest::OnEvent"), LOOP}},
};
/* clang-format on */
const size_t n_demo_stacks = sizeof demo_stacks / sizeof *demo_stacks;
