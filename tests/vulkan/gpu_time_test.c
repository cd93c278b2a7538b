/* A Vulkan game's GPU time, as docs/engines.md shows it: two timestamps a frame in the game's own
 * command buffer, fetched frames later, told by fw_gpu_time(). On Mesa's software renderer
 * (lavapipe). */
#include <framewatch.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <vulkan/vulkan.h>

#define FRAMES 3 /* on their way at once */
#define PLAYED 30
#define BYTES ((VkDeviceSize)8 << 20) /* what a frame fills */
#define DEVICES 8
#define FAMILIES 16
#define PATIENCE_NS UINT64_C(120000000000)

struct game {
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool commands;
    VkCommandBuffer cmd[FRAMES];
    VkFence fence[FRAMES];
    VkQueryPool queries;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t mask;    /* of a timestamp's valid bits */
    double period_ns; /* of a tick */
    unsigned told;    /* frames whose GPU time came */
    uint64_t told_us; /* their sum */
    fw_context *fw;
    char folder[64];
};

#define OK(call) assert_int_equal((call), VK_SUCCESS)

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The software renderer, if there are others too. */
static void choose_gpu(struct game *g)
{
    VkPhysicalDevice found[DEVICES];
    VkPhysicalDeviceProperties p;
    uint32_t n = DEVICES;

    vkEnumeratePhysicalDevices(g->instance, &n, found);
    assert_in_range(n, 1, DEVICES);
    g->gpu = found[0];
    for (uint32_t i = 0; i < n; i++) {
        vkGetPhysicalDeviceProperties(found[i], &p);
        if (p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
            g->gpu = found[i];
    }
    vkGetPhysicalDeviceProperties(g->gpu, &p);
    g->period_ns = (double)p.limits.timestampPeriod;
}

static void choose_family(struct game *g)
{
    VkQueueFamilyProperties family[FAMILIES];
    uint32_t n = FAMILIES, bits = 0;

    vkGetPhysicalDeviceQueueFamilyProperties(g->gpu, &n, family);
    for (uint32_t i = 0; i < n && !bits; i++)
        if (family[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) {
            g->family = i;
            bits = family[i].timestampValidBits;
        }
    assert_in_range(bits, 36, 64); /* as the specification says of queues with timestamps */
    g->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static void open_device(struct game *g)
{
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_0};
    const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &app};
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    const VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue};

    OK(vkCreateInstance(&instance, NULL, &g->instance));
    choose_gpu(g);
    choose_family(g);
    queue.queueFamilyIndex = g->family;
    OK(vkCreateDevice(g->gpu, &device, NULL, &g->device));
    vkGetDeviceQueue(g->device, g->family, 0, &g->queue);
}

static void make_buffer(struct game *g)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    OK(vkCreateBuffer(g->device, &info, NULL, &g->buffer));
    vkGetBufferMemoryRequirements(g->device, g->buffer, &needs);
    memory.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> memory.memoryTypeIndex & 1))
        memory.memoryTypeIndex++;
    OK(vkAllocateMemory(g->device, &memory, NULL, &g->memory));
    OK(vkBindBufferMemory(g->device, g->buffer, g->memory, 0));
}

static void make_frames(struct game *g)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = g->family};
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = FRAMES};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = 2 * FRAMES};

    OK(vkCreateCommandPool(g->device, &pool, NULL, &g->commands));
    buffers.commandPool = g->commands;
    OK(vkAllocateCommandBuffers(g->device, &buffers, g->cmd));
    for (unsigned i = 0; i < FRAMES; i++)
        OK(vkCreateFence(g->device, &fence, NULL, &g->fence[i]));
    OK(vkCreateQueryPool(g->device, &queries, NULL, &g->queries));
}

static int open_game(void **state)
{
    struct game *g = calloc(1, sizeof *g);
    fw_options o;

    open_device(g);
    make_buffer(g);
    make_frames(g);
    snprintf(g->folder, sizeof g->folder, "/tmp/framewatch-vulkan-XXXXXX");
    assert_non_null(mkdtemp(g->folder));
    fw_options_init(&o);
    o.server_url = "http://127.0.0.1:1";
    o.api_key = "none";
    o.storage_path = g->folder;
    o.app = "vulkan";
    o.version_name = "1";
    o.flags = FW_NO_UPLOAD | FW_NO_CRASHES | FW_NO_STACKS;
    g->fw = fw_start(&o);
    assert_non_null(g->fw);
    *state = g;
    return 0;
}

static int close_game(void **state)
{
    struct game *g = *state;
    char command[128];

    fw_stop(g->fw);
    OK(vkDeviceWaitIdle(g->device));
    vkDestroyQueryPool(g->device, g->queries, NULL);
    for (unsigned i = 0; i < FRAMES; i++)
        vkDestroyFence(g->device, g->fence[i], NULL);
    vkDestroyCommandPool(g->device, g->commands, NULL);
    vkDestroyBuffer(g->device, g->buffer, NULL);
    vkFreeMemory(g->device, g->memory, NULL);
    vkDestroyDevice(g->device, NULL);
    vkDestroyInstance(g->instance, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", g->folder);
    if (system(command) != 0)
        fail();
    free(g);
    return 0;
}

static void record(struct game *g, unsigned i)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer cmd = g->cmd[i];

    OK(vkBeginCommandBuffer(cmd, &begin));
    vkCmdResetQueryPool(cmd, g->queries, 2 * i, 2);
    vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->queries, 2 * i);
    vkCmdFillBuffer(cmd, g->buffer, 0, VK_WHOLE_SIZE, i);
    vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, g->queries, 2 * i + 1);
    OK(vkEndCommandBuffer(cmd));
}

/* Behind the frame's fence, so its results are there. */
static void tell(struct game *g, unsigned i)
{
    uint64_t t[2];

    if (vkGetQueryPoolResults(g->device, g->queries, 2 * i, 2, sizeof t, t, sizeof t[0],
                              VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return;

    uint32_t us = (uint32_t)((double)((t[1] - t[0]) & g->mask) * g->period_ns / 1000);

    fw_gpu_time(g->fw, us);
    g->told++;
    g->told_us += us;
}

/* A frame: what lay in this slot is done by now, or nearly. */
static void play(struct game *g, unsigned number)
{
    unsigned i = number % FRAMES;
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &g->cmd[i]};

    if (number >= FRAMES) {
        OK(vkWaitForFences(g->device, 1, &g->fence[i], VK_TRUE, PATIENCE_NS));
        OK(vkResetFences(g->device, 1, &g->fence[i]));
        tell(g, i);
    }
    record(g, i);
    OK(vkQueueSubmit(g->queue, 1, &submit, g->fence[i]));
    fw_frame(g->fw);
}

static void a_vulkan_games_timestamps_are_gpu_times(void **state)
{
    struct game *g = *state;
    fw_hud_figures f = {.size = sizeof f};
    uint64_t began = now_us();

    for (unsigned number = 0; number < PLAYED; number++)
        play(g, number);
    OK(vkQueueWaitIdle(g->queue));
    assert_int_equal(g->told, PLAYED - FRAMES);
    assert_in_range(g->told_us, 1, now_us() - began); /* one frame at a time */
    assert_true(fw_hud(g->fw, &f));
    assert_in_range(f.gpu_time_us, 1, now_us() - began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_vulkan_games_timestamps_are_gpu_times, open_game,
                                        close_game),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
