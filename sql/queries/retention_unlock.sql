SELECT pg_advisory_unlock(hashtext('framewatch.maintenance')) AS unlocked
