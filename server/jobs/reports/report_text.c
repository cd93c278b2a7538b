/* A report's document as CSV and as a page. Names in it come from phones: each is escaped. */
#include "server/jobs/reports/report_doc.h"

#include "server/jobs/reports/metric_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* CSV ------------------------------------------------------------------------------------------ */

/* What a spreadsheet would take for a formula; wide forms of the signs count where Japanese is set.
 */
static bool is_formula(const char *text)
{
    return (*text && strchr("=+-@\t\r\n", *text)) ||
           (strncmp(text, "\xef\xbc", 2) == 0 && text[2] && strchr("\x8b\x8d\x9d\xa0", text[2]));
}

/* Quoted; a formula begins with an apostrophe, so that it is shown as text. */
static void csv_text(struct buf *out, const char *text)
{
    buf_byte(out, '"');
    if (is_formula(text))
        buf_byte(out, '\'');
    for (; *text; text++) {
        if (*text == '"')
            buf_byte(out, '"');
        buf_byte(out, (uint8_t)*text);
    }
    buf_byte(out, '"');
}

static void csv_value(struct buf *out, const json_t *v)
{
    buf_byte(out, ',');
    if (json_is_integer(v))
        buf_printf(out, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        buf_printf(out, "%.9g", json_real_value(v));
    else if (json_is_boolean(v))
        buf_text(out, json_is_true(v) ? "true" : "false");
    else if (json_is_string(v))
        csv_text(out, json_string_value(v));
}

void report_csv(const json_t *doc, struct buf *out)
{
    static const char *const column[] = {
        "n",    "value", "baseline_n", "baseline",  "change",     "low",
        "high", "mix",   "basis",      "same_time", "compared_n", "compared_baseline_n"};
    size_t i, m;
    const json_t *slice, *metric;

    buf_text(out, "tier,scene,installs,metric,unit");
    for (size_t c = 0; c < sizeof column / sizeof *column; c++)
        buf_printf(out, ",%s", column[c]);
    buf_text(out, "\r\n");
    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        json_array_foreach(json_object_get(doc, "metrics"), m, metric)
        {
            const json_t *figure =
                json_object_get(json_object_get(slice, "figures"), text_of(metric, "name"));

            if (!figure)
                continue;
            csv_text(out, text_of(slice, "tier_name"));
            csv_value(out, json_object_get(slice, "scene"));
            csv_value(out, json_object_get(slice, "installs"));
            csv_value(out, json_object_get(metric, "name"));
            csv_value(out, json_object_get(metric, "unit"));
            for (size_t c = 0; c < sizeof column / sizeof *column; c++)
                csv_value(out, json_object_get(figure, column[c]));
            buf_text(out, "\r\n");
        }
    }
}

/* Page ----------------------------------------------------------------------------------------- */

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}caption{text-align:left;padding:.3rem 0}"
    "th,td{padding:.3rem .6rem;border-bottom:1px solid #8884;text-align:right;"
    "font-variant-numeric:tabular-nums}"
    "th:first-child{text-align:left}thead th{border-bottom:2px solid #8888}"
    ".worse{color:#b3261e;font-weight:600}.better{color:#1b6e3c;font-weight:600}"
    "dt{font-weight:600}dd{margin:0 0 .5rem}"
    ".few{opacity:.55}small{display:block;opacity:.75}"
    "@media(prefers-color-scheme:dark){.worse{color:#ffb4ab}.better{color:#7bd99a}}"
    "@media print{body{margin:0;max-width:none;font-size:11px}h2{break-after:avoid}"
    "tr{break-inside:avoid}}"
    "@media screen and (max-width:52rem){table{display:block;overflow-x:auto}}";

static void html_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            buf_text(out, "&lt;");
            break;
        case '>':
            buf_text(out, "&gt;");
            break;
        case '&':
            buf_text(out, "&amp;");
            break;
        case '"':
            buf_text(out, "&quot;");
            break;
        default:
            buf_byte(out, (uint8_t)*text);
        }
}

static double real(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* How many sessions a figure rests on; where there is a change, those it was taken from. */
static void html_n(struct buf *out, const json_t *figure)
{
    const bool compared = !isnan(real(figure, "change"));
    const json_t *n = json_object_get(figure, compared ? "compared_n" : "n");
    const json_t *base = json_object_get(figure, compared ? "compared_baseline_n" : "baseline_n");

    buf_printf(out, "<small>n = %lld", (long long)json_integer_value(n));
    if (json_is_integer(base))
        buf_printf(out, " / %lld", (long long)json_integer_value(base));
    buf_text(out, "</small>");
}

/* A change in percent; past tenfold its size says nothing more. */
static void html_percent(struct buf *out, double change)
{
    if (change > 10)
        buf_text(out, "over +1000");
    else
        buf_printf(out, "%+.1f", 100 * change);
}

/* A figure beside the baseline's, its change with interval, and how much stands behind it. */
static void html_figure(struct buf *out, const json_t *figure)
{
    double value = real(figure, "value"), change = real(figure, "change");
    double low = real(figure, "low"), high = real(figure, "high"), mix = real(figure, "mix");
    double base = real(figure, "baseline");
    const char *class = low > 0 ? "worse" : high < 0 ? "better" : "";

    if (!figure || isnan(value)) {
        buf_text(out, "<td class=few>–</td>");
        return;
    }
    buf_printf(out, "<td%s>%.4g", isnan(change) ? " class=few" : "", value);
    if (!isnan(base))
        buf_printf(out, "<small>was %.4g</small>", base);
    if (!isnan(change)) {
        buf_printf(out, " <span class=\"%s\">", class);
        html_percent(out, change);
        buf_text(out, " %</span><small>");
        html_percent(out, low);
        buf_text(out, " … ");
        html_percent(out, high);
        buf_text(out, " %</small>");
    }
    if (!isnan(mix)) {
        buf_text(out, "<small>mix ");
        html_percent(out, mix);
        buf_text(out, " %</small>");
    }
    html_n(out, figure);
    buf_text(out, "</td>");
}

static void html_build(struct buf *out, const json_t *build)
{
    html_text(out, text_of(build, "version_name"));
    buf_printf(out, " (%lld)",
               (long long)json_integer_value(json_object_get(build, "version_code")));
}

static const json_t *find_slice(const json_t *doc, const char *scene, const char *tier)
{
    size_t i;
    const json_t *slice;

    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        if (strcmp(text_of(slice, "scene"), scene) == 0 &&
            strcmp(text_of(slice, "tier_name"), tier) == 0)
            return slice;
    }
    return NULL;
}

#define COLUMNS_MAX 11

/* The tiers that occur, the fastest first, all together last. */
static size_t columns(const json_t *doc, const char *name[COLUMNS_MAX])
{
    size_t i, n = 0;
    const json_t *slice, *tier;

    json_array_foreach(json_object_get(doc, "tiers"), i, tier)
    {
        if (n < COLUMNS_MAX - 2)
            name[n++] = text_of(tier, "name");
    }
    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        if (strcmp(text_of(slice, "tier_name"), "untiered") == 0) {
            name[n++] = "untiered";
            break;
        }
    }
    name[n++] = "all";
    return n;
}

static void html_head_row(struct buf *out, const char *first, const char **tier, size_t n)
{
    buf_printf(out, "<thead><tr><th scope=col>%s</th>", first);
    for (size_t c = 0; c < n; c++) {
        buf_text(out, "<th scope=col>");
        html_text(out, tier[c]);
        buf_text(out, "</th>");
    }
    buf_text(out, "</tr></thead><tbody>");
}

static const char *metric_called(const char *name)
{
    enum metric m;

    return metric_named(name, &m) ? metric_text[m].name : name;
}

static void html_whole(struct buf *out, const json_t *doc, const char **tier, size_t n)
{
    size_t m;
    const json_t *metric;

    buf_text(out, "<h2>Whole sessions</h2><table>");
    html_head_row(out, "metric", tier, n);
    json_array_foreach(json_object_get(doc, "metrics"), m, metric)
    {
        const char *name = text_of(metric, "name");

        if (!json_object_get(json_object_get(find_slice(doc, "", "all"), "figures"), name))
            continue;
        buf_text(out, "<tr><th scope=row>");
        html_text(out, metric_called(name));
        buf_text(out, "<small>");
        html_text(out, text_of(metric, "unit"));
        buf_text(out, "</small></th>");
        for (size_t c = 0; c < n; c++)
            html_figure(out, json_object_get(
                                 json_object_get(find_slice(doc, "", tier[c]), "figures"), name));
        buf_text(out, "</tr>");
    }
    buf_text(out, "</tbody></table>");
}

/* Whether some slice of a scene tells the metric. */
static bool any_scene(const json_t *doc, const char *metric)
{
    size_t i;
    const json_t *slice;

    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        if (*text_of(slice, "scene") && json_object_get(json_object_get(slice, "figures"), metric))
            return true;
    }
    return false;
}

static void html_scenes(struct buf *out, const json_t *doc, const json_t *metric, const char **tier,
                        size_t n)
{
    const char *name = text_of(metric, "name");
    size_t i;
    const json_t *slice;

    buf_text(out, "<h2>");
    html_text(out, metric_called(name));
    buf_text(out, " by scene<small>");
    html_text(out, text_of(metric, "unit"));
    buf_text(out, "</small></h2><table>");
    html_head_row(out, "scene", tier, n);
    json_array_foreach(json_object_get(doc, "slices"), i, slice)
    {
        const char *scene = text_of(slice, "scene");

        if (!*scene || strcmp(text_of(slice, "tier_name"), "all") != 0)
            continue;
        buf_text(out, "<tr><th scope=row>");
        html_text(out, scene);
        buf_text(out, "</th>");
        for (size_t c = 0; c < n; c++)
            html_figure(
                out,
                json_object_get(json_object_get(find_slice(doc, scene, tier[c]), "figures"), name));
        buf_text(out, "</tr>");
    }
    buf_text(out, "</tbody></table>");
}

/* What each metric of the report means. */
static void html_definitions(struct buf *out, const json_t *doc)
{
    size_t i;
    const json_t *metric;
    enum metric m;

    buf_text(out, "<h2>What the figures are</h2><dl>");
    json_array_foreach(json_object_get(doc, "metrics"), i, metric)
    {
        if (metric_named(text_of(metric, "name"), &m) &&
            json_object_get(json_object_get(find_slice(doc, "", "all"), "figures"),
                            metric_info[m].name))
            buf_printf(out, "<dt>%s, %s</dt><dd>%s %s</dd>", metric_text[m].name,
                       metric_info[m].unit, metric_text[m].says,
                       metric_kind_says[metric_info[m].kind]);
    }
    buf_text(out, "</dl>");
}

void report_html(const json_t *doc, struct buf *out)
{
    const json_t *base = json_object_get(doc, "baseline");
    const char *tier[COLUMNS_MAX];
    size_t n = columns(doc, tier), m;
    const json_t *metric;

    buf_printf(out, "<!doctype html><html lang=en><head><meta charset=utf-8>"
                    "<meta name=viewport content=\"width=device-width\"><title>Framewatch: ");
    html_build(out, json_object_get(doc, "build"));
    buf_printf(out, "</title><style>%s</style></head><body><h1>", style);
    html_build(out, json_object_get(doc, "build"));
    if (json_is_object(base)) {
        buf_text(out, " against ");
        html_build(out, base);
    }
    buf_text(out, "</h1><p>");
    html_text(out, text_of(json_object_get(doc, "build"), "platform"));
    buf_text(out, ", made ");
    html_text(out, text_of(doc, "made_at"));
    buf_text(out,
             ". Frame times are means over sessions, each session counted once. A change has "
             "the mix of devices and players taken out (what that made is told beside it); its "
             "interval holds at every look, 95 % together. n: sessions of the build / of the "
             "baseline; beside a change those it was taken from. Grey: too few sessions to "
             "compare.</p>");
    html_whole(out, doc, tier, n);
    json_array_foreach(json_object_get(doc, "metrics"), m, metric)
    {
        if (any_scene(doc, text_of(metric, "name")))
            html_scenes(out, doc, metric, tier, n);
    }
    html_definitions(out, doc);
    buf_text(out, "</body></html>\n");
}
