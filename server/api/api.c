#include "server/api/api.h"

#include "server/api/handlers.h"

const struct route api_routes[] = {
#define X(method, pattern, role, limit, handler, no_db)                                            \
    {method, pattern, role, limit, handler, #handler, no_db},
    API_ROUTES(X)
#undef X
};
const size_t api_routes_n = sizeof api_routes / sizeof *api_routes;
