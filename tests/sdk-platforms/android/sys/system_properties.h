/* The part of Android's header that the SDK uses; glibc has none. */
#pragma once
#define PROP_VALUE_MAX 92
int __system_property_get(const char *name, char *value);
