-- A job that adds what this transaction leaves in stack_delta and stack_regroup.
SELECT families_queue($1::integer)
