#include <framewatch_gl.h>

int main()
{
    fw_hud_figures f = {};

    f.size = sizeof f;
    return fw_hud(NULL, &f) == 0 && f.fps_milli == -1 && !fw_gl_new(NULL, NULL) ? 0 : 1;
}
