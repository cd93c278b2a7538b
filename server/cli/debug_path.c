#include "debug_path.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

static bool join(char out[PATH_MAX], const char *folder, const char *name, struct err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);

    return (n > 0 && n < PATH_MAX) || err_field(err, ERR_TOO_BIG, folder, "its path is too long");
}

static bool only_file(const char *folder, const char *bundle, char out[PATH_MAX], struct err *err)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    int found = 0;
    bool ok = true;

    if (!dir)
        return err_field(err, ERR_INVALID, bundle,
                         "a folder without Contents/Resources/DWARF; wanted is a file or a .dSYM");
    while (ok && (e = readdir(dir))) {
        if (e->d_name[0] == '.')
            continue;
        found++;
        ok = join(out, folder, e->d_name, err);
    }
    closedir(dir);
    if (ok && found != 1)
        return err_field(err, ERR_INVALID, bundle, "holds %d DWARF files; name one of them", found);
    return ok;
}

bool debug_path_resolve(const char *path, char out[PATH_MAX], struct err *err)
{
    struct stat st;
    char folder[PATH_MAX];

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return join(folder, path, "Contents/Resources/DWARF", err) &&
               only_file(folder, path, out, err);

    int n = snprintf(out, PATH_MAX, "%s", path);

    return (n > 0 && n < PATH_MAX) || err_field(err, ERR_TOO_BIG, "FILE", "its path is too long");
}
