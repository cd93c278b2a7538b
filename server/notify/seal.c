#include "server/notify/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#define NONCE_BYTES 12
#define TAG_BYTES 16
#define TEXT_MAX 65536

bool seal(const struct seal_key *key, const char *bound, const char *text, struct arena *mem,
          struct bytes *out, struct err *err)
{
    size_t n = strlen(text);
    unsigned char *at = n <= TEXT_MAX ? arena_alloc(mem, NONCE_BYTES + TAG_BYTES + n) : NULL;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int len;
    bool ok =
        at && c && RAND_bytes(at, NONCE_BYTES) == 1 &&
        EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key->bytes, at) == 1 &&
        EVP_EncryptUpdate(c, NULL, &len, (const unsigned char *)bound, (int)strlen(bound)) == 1 &&
        EVP_EncryptUpdate(c, at + NONCE_BYTES + TAG_BYTES, &len, (const unsigned char *)text,
                          (int)n) == 1 &&
        EVP_EncryptFinal_ex(c, at + NONCE_BYTES + TAG_BYTES + len, &len) == 1 &&
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, at + NONCE_BYTES) == 1;

    EVP_CIPHER_CTX_free(c);
    if (!ok)
        return err_set(err, ERR_INTERNAL, "the secrets could not be sealed");
    *out = (struct bytes){at, NONCE_BYTES + TAG_BYTES + n};
    return true;
}

bool unseal(const struct seal_key *key, const char *bound, struct bytes sealed, struct arena *mem,
            const char **text, struct err *err)
{
    size_t n = sealed.len - NONCE_BYTES - TAG_BYTES;
    unsigned char tag[TAG_BYTES], *plain;
    EVP_CIPHER_CTX *c;
    int len = 0;
    bool ok;

    if (!sealed.len) {
        *text = "";
        return true;
    }
    if (sealed.len < NONCE_BYTES + TAG_BYTES || n > TEXT_MAX)
        return err_set(err, ERR_FORBIDDEN, "the channel's secrets are damaged");
    memcpy(tag, sealed.at + NONCE_BYTES, TAG_BYTES);
    plain = arena_alloc(mem, n + 1);
    c = EVP_CIPHER_CTX_new();
    ok = plain && c && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key->bytes, sealed.at) == 1 &&
         EVP_DecryptUpdate(c, NULL, &len, (const unsigned char *)bound, (int)strlen(bound)) == 1 &&
         EVP_DecryptUpdate(c, plain, &len, sealed.at + NONCE_BYTES + TAG_BYTES, (int)n) == 1 &&
         EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1 &&
         EVP_DecryptFinal_ex(c, plain + len, &len) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!ok)
        return err_set(err, ERR_FORBIDDEN,
                       "the channel's secrets were sealed with another server secret, or for "
                       "another address");
    *text = (const char *)plain;
    return true;
}
