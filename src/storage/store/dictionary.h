/* dictionary: schema/payload-N.dict, compiled in by tools/embed_bytes.py; made by tools/train_dictionary.py. */
#ifndef HOOKD_STORE_DICTIONARY_H
#define HOOKD_STORE_DICTIONARY_H

#include <stddef.h>

extern const unsigned char dictionary_1[], dictionary_2[];
extern const size_t dictionary_1_size, dictionary_2_size;

#endif
