#include "server/api/tiers/tiers_arg.h"

#include "server/api/args.h"
#include "server/jobs/tiers/tier_name.h"

struct count_row {
    int64_t tiers;
};
static const struct db_col count_cols[] = {DB_COL(count_row, tiers)};
static const struct db_map count_map = DB_MAP(count_row, count_cols);

bool tier_count(struct req *r, int64_t *tiers, struct err *err)
{
    struct count_row row;

    if (!db_one(r->db, Q_TIER_COUNT, DB_ARGS(db_i64(r->who.app)), &count_map, r->mem, &row, err))
        return false;
    *tiers = row.tiers;
    return true;
}

void tier_name_put(json_t *object, int64_t tiers)
{
    const json_t *tier = json_object_get(object, "tier");
    char name[TIER_NAME_BYTES];

    tier_name(json_integer_value(tier), tiers, name);
    json_object_set_new(object, "tier_name",
                        json_is_integer(tier) ? json_string(name) : json_null());
}

bool arg_tier(struct req *r, const char *name, bool *given, int64_t *tier, struct err *err)
{
    const char *text = req_query(r, name);
    int64_t tiers;

    *given = text != NULL;
    if (!text)
        return true;
    return tier_count(r, &tiers, err) &&
           (tier_parse(text, tiers, tier) ||
            err_field(err, ERR_INVALID, name, "must be a number 0 to 9 or a tier's name"));
}

bool arg_scene(struct req *r, const char *name, struct db_arg *out, struct err *err)
{
    const char *text = req_query(r, name);

    if (text && !*text) {
        *out = db_text("");
        return true;
    }
    return arg_text(r, name, 256, out, err);
}
