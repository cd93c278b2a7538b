/*
 * handlers: the one list of the API's routes; it makes the table of api.c and the prototypes. A
 * handler's name is also the route's in logs and metrics.
 *
 * API_ROUTES(X): X(method, pattern, role, body limit in bytes, handler, answers without database)
 */
#pragma once
#include "server/http/req.h"

#define EVENT_BODY_BYTES 65536
#define BUILD_BODY_BYTES 65536
#define CONFIG_BODY_BYTES 65536
#define CATALOGUE_BODY_BYTES (1u << 20)
#define RULES_BODY_BYTES 1048576
#define CHANNEL_BODY_BYTES 65536

#define API_ROUTES(X)                                                                              \
    X("GET", "/v1/sessions", ROLE_READ, 0, session_list, false)                                    \
    X("GET", "/v1/sessions/{id}", ROLE_READ, 0, session_get, false)                                \
    X("GET", "/v1/sessions/{id}/timeline", ROLE_READ, 0, session_timeline, false)                  \
    X("GET", "/v1/sessions/{id}/janks", ROLE_READ, 0, session_janks, false)                        \
    X("GET", "/v1/sessions/{id}/trace", ROLE_READ, 0, session_trace, false)                        \
    X("GET", "/v1/sessions/{id}/raw", ROLE_READ, 0, session_raw_list, false)                       \
    X("GET", "/v1/sessions/{id}/raw/{part}", ROLE_READ, 0, session_raw_get, false)                 \
    X("POST", "/v1/sessions/{id}/crashes", ROLE_INGEST, EVENT_BODY_BYTES, crash_post, false)       \
    X("POST", "/v1/sessions/{id}/feedback", ROLE_INGEST, EVENT_BODY_BYTES, feedback_post, false)   \
    X("POST", "/v1/erasures", ROLE_INGEST, EVENT_BODY_BYTES, erasure_post, false)                  \
    X("POST", "/v1/builds", ROLE_ADMIN, BUILD_BODY_BYTES, build_post, false)                       \
    X("GET", "/v1/builds", ROLE_READ, 0, build_list, false)                                        \
    X("GET", "/v1/builds/{id}", ROLE_READ, 0, build_get, false)                                    \
    X("GET", "/v1/builds/{id}/symbols", ROLE_READ, 0, build_symbols, false)                        \
    X("GET", "/v1/symbols", ROLE_READ, 0, symbol_list, false)                                      \
    X("GET", "/v1/symbols/files", ROLE_READ, 0, symbol_file_list, false)                           \
    X("DELETE", "/v1/symbols/{id}", ROLE_ADMIN, 0, symbol_delete, false)                           \
    X("GET", "/v1/families", ROLE_READ, 0, family_list, false)                                     \
    X("GET", "/v1/families/{id}", ROLE_READ, 0, family_get, false)                                 \
    X("GET", "/v1/families/{id}/stacks", ROLE_READ, 0, family_stacks, false)                       \
    X("GET", "/v1/families/{id}/sessions", ROLE_READ, 0, family_sessions, false)                   \
    X("POST", "/v1/families/{id}/merge", ROLE_ADMIN, EVENT_BODY_BYTES, family_merge, false)        \
    X("POST", "/v1/families/{id}/split", ROLE_ADMIN, EVENT_BODY_BYTES, family_split, false)        \
    X("GET", "/v1/families/{id}/flame", ROLE_READ, 0, family_flame, false)                         \
    X("GET", "/v1/families/{id}/paths", ROLE_READ, 0, family_paths, false)                         \
    X("GET", "/v1/families/{id}/verdicts", ROLE_READ, 0, family_verdicts, false)                   \
    X("POST", "/v1/verdict-pairs", ROLE_ADMIN, EVENT_BODY_BYTES, verdict_pair_post, false)         \
    X("GET", "/v1/flame", ROLE_READ, 0, flame_get, false)                                          \
    X("GET", "/v1/flame/diff", ROLE_READ, 0, flame_diff, false)                                    \
    X("GET", "/v1/family-edits", ROLE_READ, 0, family_edit_list, false)                            \
    X("POST", "/v1/family-edits/{id}/undo", ROLE_ADMIN, 0, family_edit_undo, false)                \
    X("GET", "/v1/family-kin", ROLE_READ, 0, family_kin, false)                                    \
    X("GET", "/v1/family-rules", ROLE_READ, 0, family_rules_get, false)                            \
    X("PUT", "/v1/family-rules", ROLE_ADMIN, RULES_BODY_BYTES, family_rules_put, false)            \
    X("POST", "/v1/family-rules/preview", ROLE_READ, RULES_BODY_BYTES, family_rules_preview,       \
      false)                                                                                       \
    X("GET", "/v1/family-rules/versions", ROLE_READ, 0, family_rules_history, false)               \
    X("POST", "/v1/family-rules/versions/{version}/restore", ROLE_ADMIN, 0, family_rules_restore,  \
      false)                                                                                       \
    X("GET", "/v1/slices", ROLE_READ, 0, slice_get, false)                                         \
    X("GET", "/v1/alerts", ROLE_READ, 0, alert_list, false)                                        \
    X("GET", "/v1/alert-rules", ROLE_READ, 0, alert_rules_get, false)                              \
    X("PUT", "/v1/alert-rules", ROLE_ADMIN, EVENT_BODY_BYTES, alert_rules_put, false)              \
    X("GET", "/v1/alerts/{id}", ROLE_READ, 0, alert_get, false)                                    \
    X("POST", "/v1/alerts/{id}/acknowledge", ROLE_ADMIN, EVENT_BODY_BYTES, alert_acknowledge,      \
      false)                                                                                       \
    X("POST", "/v1/alerts/{id}/silence", ROLE_ADMIN, EVENT_BODY_BYTES, alert_silence, false)       \
    X("GET", "/v1/report", ROLE_READ, 0, report_get, false)                                        \
    X("GET", "/v1/reports", ROLE_READ, 0, report_list, false)                                      \
    X("GET", "/v1/reports/{id}", ROLE_READ, 0, report_stored, false)                               \
    X("GET", "/v1/tiers", ROLE_READ, 0, tiers_get, false)                                          \
    X("GET", "/v1/tiers/models", ROLE_READ, 0, tier_models, false)                                 \
    X("PUT", "/v1/tiers/catalogue", ROLE_ADMIN, CATALOGUE_BODY_BYTES, tier_catalogue_put, false)   \
    X("GET", "/v1/tiers/versions", ROLE_READ, 0, tier_version_list, false)                         \
    X("POST", "/v1/tiers/versions", ROLE_ADMIN, EVENT_BODY_BYTES, tier_version_post, false)        \
    X("GET", "/v1/adoption", ROLE_READ, 0, adoption_get, false)                                    \
    X("GET", "/v1/heatmap", ROLE_READ, 0, heatmap_get, false)                                      \
    X("GET", "/v1/health-check", ROLE_READ, 0, health_get, false)                                  \
    X("POST", "/v1/schedule/{kind}", ROLE_ADMIN, 0, schedule_post, false)                          \
    X("GET", "/v1/config", ROLE_INGEST, 0, config_get, false)                                      \
    X("PUT", "/v1/config", ROLE_ADMIN, CONFIG_BODY_BYTES, config_put, false)                       \
    X("GET", "/v1/quarantine", ROLE_READ, 0, quarantine_get, false)                                \
    X("GET", "/v1/tickets", ROLE_READ, 0, ticket_list, false)                                      \
    X("GET", "/v1/channels", ROLE_ADMIN, 0, channel_list, false)                                   \
    X("POST", "/v1/channels", ROLE_ADMIN, CHANNEL_BODY_BYTES, channel_post, false)                 \
    X("GET", "/v1/channels/{id}", ROLE_ADMIN, 0, channel_get, false)                               \
    X("PUT", "/v1/channels/{id}", ROLE_ADMIN, CHANNEL_BODY_BYTES, channel_put, false)              \
    X("DELETE", "/v1/channels/{id}", ROLE_ADMIN, 0, channel_delete, false)                         \
    X("POST", "/v1/channels/{id}/test", ROLE_ADMIN, 0, channel_test, false)                        \
    X("GET", "/v1/deliveries", ROLE_ADMIN, 0, delivery_list, false)                                \
    X("GET", "/v1/deliveries/{id}", ROLE_ADMIN, 0, delivery_get, false)                            \
    X("POST", "/v1/deliveries/{id}/retry", ROLE_ADMIN, 0, delivery_retry, false)                   \
    X("GET", "/v1/jobs", ROLE_ADMIN, 0, job_list, false)                                           \
    X("POST", "/v1/jobs/{id}/retry", ROLE_ADMIN, 0, job_retry, false)                              \
    X("GET", "/v1/keys", ROLE_ADMIN, 0, key_list, false)                                           \
    X("POST", "/v1/login", ROLE_READ, 0, login_post, false)                                        \
    X("DELETE", "/v1/login", ROLE_READ, 0, login_delete, false)                                    \
    X("GET", "/v1/openapi.json", ROLE_NONE, 0, openapi_get, true)                                  \
    X("GET", "/metrics", ROLE_NONE, 0, metrics_get, true)                                          \
    X("GET", "/readyz", ROLE_NONE, 0, ready_get, false)

#define X(method, pattern, role, limit, handler, no_db)                                            \
    bool handler(struct req *r, struct err *err);
API_ROUTES(X)
#undef X
