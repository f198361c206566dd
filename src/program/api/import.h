/* import: frames of records into the store. For api/ only. */
#ifndef HOOKD_API_IMPORT_H
#define HOOKD_API_IMPORT_H

#include "capture/capture.h"
#include "store/store.h"

/* The body of a RECORDS frame (wire.h), and the result. */
struct import_frame {
	struct capture *capture;
	const char *purpose; /* under which the position in the file is kept */
	str body;
	int64_t fresh, known, unreadable; /* out */
};

/* A job of the writer; arg is the frame. -EBADMSG: no frame; -errno undoes all of it. */
int import_take_frame(struct store *s, void *arg);

#endif
