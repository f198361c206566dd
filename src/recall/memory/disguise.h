/* disguise: what a text says to a reader who is good at puzzles, and a model is. Used by poison.c alone.
 *
 * A search for words is fooled by letters that only look like others, by characters nobody sees, by l e t t e r s
 * apart, by digits for letters, by swapped letters, by separators instead of blanks and by an encoding. Each way of
 * reading a text that differs from the text itself is a text of its own, to be searched like the first. */
#ifndef HOOKD_MEMORY_DISGUISE_H
#define HOOKD_MEMORY_DISGUISE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum {
	READING_PLAIN,   /* look-alikes folded to ASCII, accents and invisible characters removed, entities resolved */
	READING_LOOSE,   /* of that: letters joined, digits read as letters, swapped letters put right */
	READING_ROT13,   /* of the plain one, in lower case; empty if that makes no word worth hiding */
	READING_REVERSE, /* likewise */
	READING_DECODED, /* the base64 and hex in it that is readable text; empty if there is none */
	READINGS
};

/* The readings live in the arena. */
void disguise_read(struct arena *a, str text, str ret[READINGS]);

#endif
