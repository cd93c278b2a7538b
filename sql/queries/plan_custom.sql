-- For this transaction, plan each statement for its arguments: with many optional filters a plan
-- made for all of them at once can use no index.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true)
