#include "base/err.h"

#include "base/url_hide.h"

#include <stdarg.h>
#include <stdio.h>

bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    err->code = code;
    err->field[0] = '\0';
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    url_hide(err->text);
    return false;
}

bool err_field(struct err *err, enum err_code code, const char *field, const char *fmt, ...)
{
    va_list ap;

    err->code = code;
    snprintf(err->field, sizeof err->field, "%s", field);
    url_hide(err->field);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    url_hide(err->text);
    return false;
}

bool err_memory(struct err *err)
{
    return err_set(err, ERR_INTERNAL, "out of memory");
}

bool err_full(struct err *err, const char *what)
{
    return err_set(err, ERR_TOO_BIG, "more memory is needed than %s may take", what);
}
