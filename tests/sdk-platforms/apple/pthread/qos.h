#pragma once
typedef enum { QOS_CLASS_DEFAULT = 0x15, QOS_CLASS_UTILITY = 0x11 } qos_class_t;
int pthread_set_qos_class_self_np(qos_class_t qos, int relative_priority);
