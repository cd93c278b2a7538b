#include "server/http/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_secret(int fd, const char *path, struct secret *out, struct err *err)
{
    unsigned char bytes[SECRET_BYTES_MAX + 2];
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a file", path);
    /* Container engines mount secrets for all to read; nobody else is in there. */
    if ((st.st_mode & S_IROTH) && strncmp(path, "/run/secrets/", 13) != 0)
        return err_set(err, ERR_INVALID, "%s may be read by everybody: chmod o-r", path);
    n = read(fd, bytes, sizeof bytes);
    if (n > 0 && bytes[n - 1] == '\n')
        n--;
    if (n < SECRET_BYTES_MIN || n > SECRET_BYTES_MAX)
        return err_set(err, ERR_INVALID, "%s must hold %d to %d bytes", path, SECRET_BYTES_MIN,
                       SECRET_BYTES_MAX);
    out->len = (size_t)n;
    memcpy(out->bytes, bytes, out->len);
    return true;
}

bool secret_load(const char *path, struct secret *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot read %s: %s", path, strerror(errno));

    bool ok = read_secret(fd, path, out, err);

    close(fd);
    return ok;
}

void secret_derive(const struct secret *s, const char *label, int64_t app, const void *subject,
                   size_t n, unsigned char out[SHA256_BYTES])
{
    unsigned char message[16 + 8 + SECRET_SUBJECT_MAX];
    size_t len = strlen(label);

    memcpy(message, label, len);
    for (int i = 7; i >= 0; i--)
        message[len++] = (unsigned char)((uint64_t)app >> (8 * i));
    if (n > SECRET_SUBJECT_MAX)
        n = SECRET_SUBJECT_MAX;
    memcpy(message + len, subject, n);
    hmac_sha256(s->bytes, s->len, message, len + n, out);
}

void secret_upload_id(const struct secret *s, int64_t app, const char *file_id, bool partial,
                      unsigned char id[16])
{
    unsigned char hash[SHA256_BYTES];

    secret_derive(s, partial ? "partial" : "upload", app, file_id, strlen(file_id), hash);
    memcpy(id, hash, 16);
}

void secret_install_hash(const struct secret *s, int64_t app, const void *install, size_t n,
                         unsigned char hash[SHA256_BYTES])
{
    secret_derive(s, "install", app, install, n, hash);
}
