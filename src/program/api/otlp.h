/* otlp: telemetry over HTTP; for api/ only. */
#ifndef HOOKD_API_OTLP_H
#define HOOKD_API_OTLP_H

#include "api/web.h"

struct otlp_counts {
	uint64_t requests, refused, postponed;
	uint64_t records, events; /* records that were read; those that were news about an agent */
};

void otlp_get_counts(struct otlp_counts *ret);

/* One of the two types that exporters use. */
bool otlp_is_type(const struct http_head *h);

void run_otlp_logs(struct web_call *c);

#endif
