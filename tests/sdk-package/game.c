#include <framewatch.h>

#include <stdio.h>

int main(void)
{
    fw_options o;
    fw_context *fw;
    char id[33];

    fw_options_init(&o);
    o.server_url = "https://frames.example.org";
    o.api_key = "none";
    o.storage_path = "game-storage";
    o.app = "package";
    o.version_name = "1";
    o.flags = FW_NO_UPLOAD;
    fw = fw_start(&o);
    fw_frame(fw);
    fw_session_id(fw, id);
    fw_stop(fw);
    printf("%s %s\n", fw_version(), id);
    return id[0] ? 0 : 1;
}
