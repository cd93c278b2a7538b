SELECT families_lock($1::integer)
