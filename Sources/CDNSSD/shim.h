#include <avahi-compat-libdns_sd/dns_sd.h>
#include <avahi-common/malloc.h>
