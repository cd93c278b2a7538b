/* glibc of armhf has no list of what is missing for the soft-float ABI, which Android calls by. */
