/* Bytes as a model's answer about a turn and about a session: what is taken from it may be stored. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "memory/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(str text, size_t most)
{
	if (!str_is_set(text))
		return;
	if (text.n > most || !utf8_valid(text))
		abort();
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str answer = str_n((const char *)data, size);
	struct session_summary summary;
	struct model_turn turn;
	struct arena arena;

	arena_init(&arena);
	if (memory_read_turn(answer, &arena, &turn) == 0) {
		if (turn.n > MODEL_NOTES_MAX)
			abort();
		for (size_t i = 0; i < turn.n; i++) {
			const struct model_note *n = &turn.notes[i];

			if (!n->type || !str_is_set(n->text) || n->importance < 1 ||
				n->importance > MODEL_IMPORTANCE_MOST)
				abort();
			check_text(n->text, 600);
			check_text(n->file, 400);
		}
	} else if (turn.n) {
		abort();
	}
	if (memory_read_session(answer, &arena, &summary) == 0) {
		if (str_empty(summary.title) || str_empty(summary.text))
			abort();
		check_text(summary.title, 110);
		check_text(summary.text, 1200);
	}
	arena_release(&arena);
	return 0;
}
